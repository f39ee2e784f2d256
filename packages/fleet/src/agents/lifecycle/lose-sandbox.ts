import type { AgentContext } from './agent-context.ts'
import { judgeLoss, restartsKept } from '../registry/restart-backoff.ts'

/**
 * Changes the state of an agent whose sandbox ended unexpectedly: to a restart after a pause, or after too many
 * losses to quarantine, of which people are notified. The caller holds the agent's mutex and a transaction, and
 * notifies the subscribers of `sandboxGone`.
 */
export function loseSandbox(context: AgentContext, agentId: string, reason: string): void {
  const at = context.clock.now()
  const { losses } = context.agents.require(agentId)
  const { kind, dueAt } = judgeLoss(losses, { at, restartsPerHour: context.settings.restartsPerHour() })
  context.database.transaction(() => {
    context.agents.move(agentId, { kind, at, reason, dueAt })
    if (kind === 'lose' || losses.quarantinedAt !== null) return
    context.agents.setLosses(agentId, { ...losses, quarantinedAt: at })
    context.journal.append({
      actor: 'system',
      action: 'agent.quarantined',
      subject: agentId,
      detail: { reason: reason.slice(0, 300), restarts: losses.restarts.length },
    })
    context.fleetEvents.ownerNoticed.publish({
      agentId,
      message: `Agent ${agentId} is in quarantine: it was restarted ${timesOf(losses.restarts.length)} within an hour and stopped unexpectedly again (${firstLine(reason)}). Its work waits. The mesh starts the agent again every 20 minutes. To start it now: flotilla restart ${agentId}`,
    })
  })
}

/** Records a restart of an agent out of `restarting` or `quarantined`; joins the caller's transaction. */
export function noteRestart(context: AgentContext, agentId: string): void {
  const { losses } = context.agents.require(agentId)
  const restarts = [...losses.restarts, context.clock.now()].slice(-restartsKept)
  context.agents.setLosses(agentId, { ...losses, restarts })
}

/** Clears the earlier losses of an agent that is healthy. Joins the caller's transaction. */
export function forgiveLosses(context: AgentContext, agentId: string): void {
  const row = context.agents.find(agentId)
  if (row === null || (row.losses.restarts.length === 0 && row.losses.quarantinedAt === null)) return
  context.agents.setLosses(agentId, { restarts: [], quarantinedAt: null })
  if (row.losses.quarantinedAt === null) return
  context.journal.append({ actor: 'system', action: 'agent.healed', subject: agentId, detail: {} })
  context.fleetEvents.ownerNoticed.publish({
    agentId,
    message: `Agent ${agentId} is healthy again and no longer in quarantine.`,
  })
}

const quotedMaxChars = 300

function timesOf(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}

function firstLine(text: string): string {
  return (text.split('\n')[0] ?? '').slice(0, quotedMaxChars)
}
