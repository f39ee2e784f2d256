import { harnessCallName } from '@flotilla/protocol/harness-api'
import type { HarnessCallKind } from '@flotilla/protocol/harness-api'
import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { actorOf } from '@flotilla/identity/access'
import type { AgentCaller } from '@flotilla/identity/http'
import type { CheckEffect } from '@flotilla/identity/policy'
import type { WorkKernel } from '../events/index.ts'

/** What the owner can do about a call that a rule wants to ask about: no person is asked in the middle of a prompt. */
const insteadOfAsking =
  'a harness cannot wait for a person in the middle of its turn; the owner can allow the kind of call in config/policy.yaml'

/**
 * Decides whether a harness may make a call inside of its container, and records the answer. Without a rule the call is
 * allowed: the container bounds what it can do, and its way to the mesh and the network is decided again there.
 */
export function createPermitCall({
  guard,
  checkEffect,
  database,
  journal,
}: Pick<WorkKernel, 'guard' | 'database' | 'journal'> & { readonly checkEffect: CheckEffect }) {
  return (
    caller: AgentCaller,
    { kind, subject }: { readonly kind: HarnessCallKind; readonly subject: string },
  ): { allowed: boolean; reason: string } => {
    guard(caller, { do: 'act-for-self', agentId: caller.agentId })
    const tool = harnessCallName(kind)
    const answer = decide()
    database.transaction(() =>
      journal.append({
        actor: actorOf(caller),
        action: answer.allowed ? 'harness.permitted' : 'harness.refused',
        subject: caller.agentId,
        detail: { tool, call: sanitizeForPrompt(subject), run_id: caller.run?.runId ?? '' },
      }),
    )
    return answer

    function decide(): { allowed: boolean; reason: string } {
      try {
        const { reason } = checkEffect.requireAllowed(caller, { tool }, insteadOfAsking)
        return { allowed: true, reason }
      } catch (error) {
        if (error instanceof Problem && error.code === 'policy-denied')
          return { allowed: false, reason: error.detail }
        throw error
      }
    }
  }
}
