import type { RunView } from '@flotilla/protocol/run'
import type { SteerView } from '@flotilla/protocol/steer'
import type { RunRecord } from './run-record.ts'

/**
 * Converts a run to the format of the people's API. `waitingOn`: the ids of its open child tasks. `open`: what calls of
 * an ended run may still use, which counts as unconfirmed until they are booked. Pure.
 */
export function runView(
  run: RunRecord,
  {
    waitingOn,
    steers,
    open,
  }: {
    readonly waitingOn: readonly string[]
    readonly steers: readonly SteerView[]
    readonly open: readonly { readonly tokens: number; readonly usd: number }[]
  },
): RunView {
  const tokens = open.reduce((sum, one) => sum + one.tokens, 0)
  const usd = open.reduce((sum, one) => sum + one.usd, 0)
  return {
    id: run.id,
    agent_id: run.agentId,
    kind: run.kind,
    origin: { ...run.origin },
    input: run.input,
    state: run.state,
    attempt: run.attempt,
    fence: run.fence,
    proactive: run.proactive,
    parent_id: run.parentId,
    task_id: run.taskId,
    waiting_on: run.state === 'waiting' ? [...waitingOn] : [],
    steers: [...steers],
    trace_id: run.traceId,
    created_at: run.createdAt,
    started_at: run.startedAt,
    ended_at: run.endedAt,
    outcome: run.outcome,
    tokens_used: run.tokensUsed + tokens,
    cost_usd: run.costUsd + usd,
    unconfirmed_usd: run.unconfirmedUsd + usd,
    unconfirmed_tokens: run.unconfirmedTokens + tokens,
    reported_tokens: run.reportedTokens,
  }
}
