import { isLive } from '@flotilla/protocol/agent-lifecycle'
import type { AgentLife } from './agent-life.ts'
import { isAtRest, restingStates } from './agent-state.ts'
import type { AgentState, RestingState } from './agent-state.ts'
import type { Resumable } from '../../storage/index.ts'
import { startMarkSchema } from '../registry/agent-table.ts'
import type { AgentStarts } from './start-agent.ts'

const stopGraceMs = 5000

export type StopAgent = (
  agentId: string,
  reason: string,
  /** For a call that may come again: one that was started since is not the one that was to be stopped. */
  step?: Pick<Resumable<unknown>, 'begun' | 'begin'>,
) => Promise<void>

/**
 * Stops an agent's sandbox; its data stays. A start under way is broken off first. Idempotent. Rejects with what
 * the runtime throws when the sandbox cannot be stopped; its tokens are dead even then. Problem `unknown-agent`.
 */
export function stopAgent(life: AgentLife, starts: AgentStarts): StopAgent {
  return async (agentId, reason, step) => {
    const { startId } = life.agents.require(agentId)
    const begun = startMarkSchema.safeParse(step?.begun)
    if (begun.success && begun.data.start !== startId) return
    if (!begun.success) step?.begin({ start: startId })
    starts.breakOff(agentId, reason)
    await life.turns.take(agentId, () => stopInTurn(life, agentId, { to: 'stopped', reason }))
  }
}

/**
 * For callers that hold the agent's turn. What is wanted is a row before anything is done (L2): where the engine
 * refuses, it is thrown, and the sweep of health goes on with it.
 */
export async function stopInTurn(
  life: AgentLife,
  agentId: string,
  wanted: { readonly to: RestingState; readonly reason: string },
): Promise<void> {
  const before = life.agents.require(agentId)
  const { state } = before
  if (isAtRest(state, wanted.to)) return
  const stopping = { kind: 'stop', at: life.clock.now(), ...strongest(state, wanted) } as const
  life.database.transaction(() => {
    life.agents.move(agentId, stopping)
    life.tokens.revoke(agentId)
  })
  life.sandboxes.addresses.delete(agentId)
  const gone = stopping.to === 'deleted' ? 'deleted' : 'stopped'
  try {
    await life.runtime.stop(agentId, { graceMs: stopGraceMs })
  } finally {
    // Without tokens it can do nothing more, also where the engine did not end it.
    if (isLive(state.kind)) life.hooks.sandboxGone.tell({ agentId, reason: gone })
  }
  life.database.transaction(() => {
    life.agents.move(agentId, { kind: 'end', at: life.clock.now() })
    life.journal.append({
      actor: 'system',
      action: stopping.to === 'hibernated' ? 'agent.hibernated' : 'agent.stopped',
      subject: agentId,
      detail: { reason: stopping.reason.slice(0, 300) },
    })
    life.events.publish({ type: 'agent.stopped', agent_id: agentId, reason: stopping.reason })
  })
  life.log.info({ agentId, to: stopping.to, reason: stopping.reason }, 'agent stopped')
}

/** A stop that broke off goes on, to what was wanted most (L3). */
function strongest(
  state: AgentState,
  wanted: { readonly to: RestingState; readonly reason: string },
): { readonly to: RestingState; readonly reason: string } {
  const goesOn =
    state.kind === 'stopping' && restingStates.indexOf(state.to) > restingStates.indexOf(wanted.to)
  const { to, reason } = goesOn ? state : wanted
  return { to, reason }
}
