import type { CheckEffect } from '../../identity/src/policy/index.ts'

const decision = { verdict: 'allow', rule: null, line: null, reason: '' } as const

/** The check of a home without a policy: every effect is allowed. */
export const allowedEffects: CheckEffect = Object.assign(() => decision, {
  requireAllowed: () => decision,
  again: () => {},
  strictest: (...[, [first]]: Parameters<CheckEffect['strictest']>) => first,
  isActive: () => false,
  explain: () => decision,
})
