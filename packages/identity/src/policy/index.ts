/** The owner's policy: which effect of an agent is allowed, asked for or denied. */

export { createCheckEffect } from './check-effect.ts'
export type { CheckEffect, EffectDetails } from './check-effect.ts'
export { plainHost } from './compile-rule.ts'
export type { PolicyRule } from './compile-rule.ts'
export type { DecideEffect, Effect, PolicyDecision, Verdict } from './effect.ts'
export { createPolicyFile, snapshotOf } from './policy-file.ts'
export type { PolicySnapshot, PolicyStore } from './policy-file.ts'
export { effectOfCase, failedCases } from './run-cases.ts'
