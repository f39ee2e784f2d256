import type { AgentContext } from './agent-context.ts'
import type { AgentRow } from '../registry/agent-table.ts'
import { refuseArchived } from '../registry/agent-table.ts'
import { isAtRest } from '../registry/agent-state.ts'
import { stopInTurn } from './stop-agent.ts'

/**
 * Hibernates agents that were idle for the configured time. Their data is kept; the next work starts them
 * like any other start.
 */
export function createHibernate(context: AgentContext): {
  /** Hibernates the agent if it was idle for the configured time. */
  readonly idle: (row: AgentRow) => Promise<void>
  /** Hibernates the agent now and returns true; returns false if the agent is busy. */
  readonly now: (agentId: string, reason: string) => Promise<boolean>
} {
  /** Returns whether the agent is busy. Under the mutex no await follows before the row is written: no run begins. */
  const isBusy = (agentId: string): boolean => context.fleetEvents.reasonsToStayAwake.ask(agentId).length > 0

  function isIdle({ record, state }: AgentRow): boolean {
    if (record.kind === 'operator' || state.kind !== 'running') return false
    const afterMs = context.settings.hibernateAfterMs(record.id)
    if (afterMs === null) return false
    const usedAt = Math.max(state.since, context.sandboxes.lastUsed.get(record.id) ?? 0)
    return context.clock.now() - usedAt >= afterMs && !isBusy(record.id)
  }

  return {
    idle: async (row) => {
      if (!isIdle(row)) return
      const { id } = row.record
      await context.mutex.take(id, async () => {
        const now = context.agents.find(id)
        if (now === null || now.startId !== row.startId || !isIdle(now)) return
        await stopInTurn(context, id, { to: 'hibernated', reason: 'the agent was idle' })
      })
    },
    now: (agentId, reason) =>
      context.mutex.take(agentId, async () => {
        const row = context.agents.require(agentId)
        refuseArchived(row)
        const { state } = row
        // An agent that was stopped or never started needs no hibernation.
        if (isAtRest(state, 'hibernated')) return true
        if (state.kind !== 'running' || isBusy(agentId)) return false
        await stopInTurn(context, agentId, { to: 'hibernated', reason })
        return true
      }),
  }
}
