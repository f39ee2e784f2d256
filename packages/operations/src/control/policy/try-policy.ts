import type { PolicyTest } from '@flotilla/protocol/policy-api'
import type { Caller, Guard } from '@flotilla/identity/access'
import type { PolicyStore } from '@flotilla/identity/policy'
import { describeEffect } from './describe-effect.ts'

/**
 * Runs the cases of the rules in force, or of a text that is not in force, and changes nothing.
 */
export type TryPolicy = (caller: Caller, text: string | null) => Promise<PolicyTest>

export function createTryPolicy(deps: {
  readonly guard: Guard
  readonly policy: Pick<PolicyStore, 'snapshot' | 'tryText'>
}): TryPolicy {
  return async (caller, text) => {
    deps.guard(caller, { do: 'manage-credentials' })
    const { broken, cases } = text === null ? deps.policy.snapshot() : await deps.policy.tryText(text)
    return {
      file: 'config/policy.yaml',
      broken,
      cases: cases.map(({ line, effect, expect, verdict, rule, fault }) => ({
        line,
        effect: `${effect.agent}: ${describeEffect(effect)}`,
        expect,
        verdict,
        rule,
        holds: fault === null,
      })),
    }
  }
}
