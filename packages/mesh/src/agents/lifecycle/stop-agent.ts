import type { AgentLife } from './agent-life.ts'
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
    await life.turns.take(agentId, () => stopInTurn(life, agentId, { reason, gone: 'stopped' }))
  }
}

/** For callers that hold the agent's turn. */
export async function stopInTurn(
  life: AgentLife,
  agentId: string,
  why: { readonly reason: string; readonly gone: 'stopped' | 'deleted' },
): Promise<void> {
  const before = life.agents.require(agentId)
  life.tokens.revoke(agentId)
  life.addresses.delete(agentId)
  try {
    await life.runtime.stop(agentId, { graceMs: stopGraceMs })
  } catch (error) {
    // Without tokens it can do nothing more; the row says that it is not gone yet, and any start re-creates it.
    if (before.state.kind === 'ready') {
      life.agents.move(agentId, { kind: 'fail', reason: 'it could not be stopped', at: life.clock.now() })
      life.hooks.sandboxGone.tell({ agentId, reason: why.gone })
    }
    throw error
  }
  if (before.state.kind === 'stopped') return
  life.database.transaction(() => {
    life.agents.move(agentId, { kind: 'stop' })
    life.journal.append({
      actor: 'system',
      action: 'agent.stopped',
      subject: agentId,
      detail: { reason: why.reason.slice(0, 300) },
    })
    life.events.publish({ type: 'agent.stopped', agent_id: agentId, reason: why.reason })
  })
  life.log.info({ agentId, reason: why.reason }, 'agent stopped')
  if (before.state.kind === 'ready') life.hooks.sandboxGone.tell({ agentId, reason: why.gone })
}
