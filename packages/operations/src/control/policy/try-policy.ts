import type { PolicyTest } from '@flotilla/protocol/policy-api'
import type { LoopShare } from '@flotilla/foundation/intake'
import type { Caller, Guard } from '@flotilla/identity/access'
import { snapshotSteps } from '@flotilla/identity/policy'
import type { PolicyStore } from '@flotilla/identity/policy'
import { describeEffect } from './describe-effect.ts'

/**
 * Runs the cases of the rules in force, or of a text that is not in force, and changes nothing. Pauses between two
 * rules and two cases of a text, so that other requests are served.
 */
export type TryPolicy = (caller: Caller, text: string | null) => Promise<PolicyTest>

export function createTryPolicy(deps: {
  readonly guard: Guard
  readonly policy: Pick<PolicyStore, 'snapshot'>
  readonly loop: Pick<LoopShare, 'inSteps'>
}): TryPolicy {
  return async (caller, text) => {
    deps.guard(caller, { do: 'manage-credentials' })
    const { broken, cases } =
      text === null ? deps.policy.snapshot() : await deps.loop.inSteps(null, snapshotSteps(text), 'finish')
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
