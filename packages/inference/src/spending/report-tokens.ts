import type { ReportedTokens } from '@flotilla/protocol/harness-api'
import { Problem } from '@flotilla/protocol/problem'
import type { EventBus } from '@flotilla/foundation/events'
import type { Guard } from '@flotilla/identity/access'
import { rootOf } from '@flotilla/identity/events'
import type { AgentCaller } from '@flotilla/identity/http'
import type { RunLifecycle } from '@flotilla/work/runs'
import type { InferenceKernel } from '../events/index.ts'
import type { Reservations } from './reservations.ts'

export interface CountedTokens {
  readonly counted: number
}

/** `once` carries out the work of the call in a transaction, and only once. Problems `denied`, `stale-fence`. */
export type ReportTokens = (
  caller: AgentCaller,
  reported: ReportedTokens,
  once: (work: () => CountedTokens) => CountedTokens,
) => CountedTokens

/**
 * Counts what a harness reports of its turns. A harness that asks models through the mesh reports tokens that are
 * booked already; one that uses an account of its own reports tokens that nothing else counts. A report does not say
 * which, and is not trusted. So the mesh counts by how much all reports of a run exceed the tokens that it has counted
 * for the run: no token is counted twice, and the run has the higher of both numbers.
 */
export function createReportTokens(
  deps: Pick<InferenceKernel, 'identityEvents'> & {
    readonly guard: Guard
    readonly events: Pick<EventBus, 'publish'>
    readonly addReport: RunLifecycle['addReport']
    readonly reservations: Pick<Reservations, 'addReported' | 'openUsageOf' | 'settleWaiting'>
  },
): ReportTokens {
  const { addReport, reservations } = deps

  function count(caller: AgentCaller, reported: ReportedTokens): CountedTokens {
    const { agentId, run } = caller
    if (run === null) throw new Problem('stale-fence')
    const { prompt_tokens: prompt, completion_tokens: completion } = reported
    const open = reservations.openUsageOf(run.runId)?.tokens ?? 0
    const counted = Math.max(0, addReport(run.runId, prompt + completion) - open)
    if (counted === 0) return { counted }
    const completionTokens = Math.min(counted, completion)
    const promptTokens = counted - completionTokens
    // The sums of a spawned agent are those of its root ancestor.
    const payer = rootOf(deps.identityEvents, agentId)
    reservations.addReported({ agentId: payer, run }, { promptTokens, completionTokens })
    deps.events.publish({
      type: 'tokens.reported',
      agent_id: agentId,
      run_id: run.runId,
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
    })
    return { counted }
  }

  return (caller, reported, once) => {
    deps.guard(caller, { do: 'act-for-self', agentId: caller.agentId })
    reservations.settleWaiting()
    return once(() => count(caller, reported))
  }
}
