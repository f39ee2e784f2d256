import { isLive } from '@flotilla/protocol/agent-lifecycle'
import type { AgentContext } from './agent-context.ts'
import { isAtRest, restingStates } from '../registry/agent-state.ts'
import type { AgentState, RestingState } from '../registry/agent-state.ts'
import type { Resumable } from '@flotilla/foundation/storage'
import { startMarkSchema } from '../registry/agent-table.ts'
import type { AgentStarts } from './start-agent.ts'

/** How long an agent may take to end by itself before its sandbox is killed, milliseconds. */
export const stopGraceMs = 5000

export type StopAgent = (
  agentId: string,
  reason: string,
  /** Makes a repeated call safe: the call does not stop a sandbox that was started after the first call. */
  step?: Pick<Resumable<unknown>, 'begun' | 'begin'>,
) => Promise<void>

/**
 * Stops an agent's sandbox; the agent's data is kept. Aborts a start in progress first. Idempotent. Rejects with the
 * runtime's error if the sandbox cannot be stopped; its tokens are invalid even then. Problem `unknown-agent`.
 */
export function stopAgent(context: AgentContext, starts: AgentStarts): StopAgent {
  return async (agentId, reason, step) => {
    const { startId } = context.agents.require(agentId)
    const begun = startMarkSchema.safeParse(step?.begun)
    if (begun.success && begun.data.start !== startId) return
    if (!begun.success) step?.begin({ start: startId })
    starts.breakOff(agentId, reason)
    await context.mutex.take(agentId, () => stopInTurn(context, agentId, { to: 'stopped', reason }))
  }
}

/**
 * Stops an agent whose mutex the caller holds. The intended state is stored before anything is done (L2). If the
 * engine refuses, this function throws, and the health sweep continues the stop.
 */
export async function stopInTurn(
  context: AgentContext,
  agentId: string,
  request: { readonly to: RestingState; readonly reason: string },
): Promise<void> {
  const before = context.agents.require(agentId)
  const { state } = before
  if (isAtRest(state, request.to)) return
  const stopping = { kind: 'stop', at: context.clock.now(), ...strongest(state, request) } as const
  context.database.transaction(() => {
    context.agents.move(agentId, stopping)
    context.tokens.revoke(agentId)
  })
  context.sandboxes.addresses.delete(agentId)
  // Published before the sandbox can report refused calls: its run is then interrupted by this stop and does not
  // fail. Without tokens the sandbox can call nothing, even if the engine does not stop it.
  const gone = stopping.to === 'deleted' ? 'deleted' : 'stopped'
  if (isLive(state.kind)) context.fleetEvents.sandboxGone.publish({ agentId, reason: gone })
  await context.runtime.stop(agentId, { graceMs: stopGraceMs })
  context.database.transaction(() => {
    context.agents.move(agentId, { kind: 'end', at: context.clock.now() })
    context.journal.append({
      actor: 'system',
      action: stopping.to === 'hibernated' ? 'agent.hibernated' : 'agent.stopped',
      subject: agentId,
      detail: { reason: stopping.reason.slice(0, 300) },
    })
    context.events.publish({ type: 'agent.stopped', agent_id: agentId, reason: stopping.reason })
  })
  context.log.info({ agentId, to: stopping.to, reason: stopping.reason }, 'stopped an agent')
}

/** Returns the strongest intended state, towards which an interrupted stop continues (L3). */
function strongest(
  state: AgentState,
  request: { readonly to: RestingState; readonly reason: string },
): { readonly to: RestingState; readonly reason: string } {
  const isContinuing =
    state.kind === 'stopping' && restingStates.indexOf(state.to) > restingStates.indexOf(request.to)
  const { to, reason } = isContinuing ? state : request
  return { to, reason }
}
