import type { AgentLife } from './agent-life.ts'
import { judgeLoss, restartsKept } from './judge-loss.ts'

/**
 * Moves an agent whose sandbox is no more, and was not meant to be: it is started again after a pause, or, where that
 * was done too often, is in quarantine and people are told. For callers that hold the agent's turn, in a transaction
 * of theirs. Listeners of `sandboxGone` are the caller's business.
 */
export function loseSandbox(life: AgentLife, agentId: string, reason: string): void {
  const at = life.clock.now()
  const { losses } = life.agents.require(agentId)
  const { kind, dueAt } = judgeLoss(losses, { at, restartsPerHour: life.settings.restartsPerHour() })
  life.database.transaction(() => {
    life.agents.move(agentId, { kind, at, reason, dueAt })
    if (kind === 'lose' || losses.quarantinedAt !== null) return
    life.agents.setLosses(agentId, { ...losses, quarantinedAt: at })
    life.journal.append({
      actor: 'system',
      action: 'agent.quarantined',
      subject: agentId,
      detail: { reason: reason.slice(0, 300), restarts: losses.restarts.length },
    })
    life.hooks.ownerTold.tell({
      agentId,
      message: `Agent ${agentId} is in quarantine: it was started again ${losses.restarts.length} times within an hour and was lost once more (${firstLine(reason)}). Its work waits. It is tried every 20 minutes; flotilla restart ${agentId} tries at once.`,
    })
  })
}

/** The agent is started out of `restarting` or `quarantined`; joins the caller's transaction. */
export function noteRestart(life: AgentLife, agentId: string): void {
  const { losses } = life.agents.require(agentId)
  const restarts = [...losses.restarts, life.clock.now()].slice(-restartsKept)
  life.agents.setLosses(agentId, { ...losses, restarts })
}

/** The agent is well: what was lost before does not count any more. Joins the caller's transaction. */
export function forgiveLosses(life: AgentLife, agentId: string): void {
  const row = life.agents.find(agentId)
  if (row === null || (row.losses.restarts.length === 0 && row.losses.quarantinedAt === null)) return
  life.agents.setLosses(agentId, { restarts: [], quarantinedAt: null })
  if (row.losses.quarantinedAt === null) return
  life.journal.append({ actor: 'system', action: 'agent.healed', subject: agentId, detail: {} })
  life.hooks.ownerTold.tell({ agentId, message: `Agent ${agentId} is well again and out of quarantine.` })
}

const quotedMaxChars = 300

function firstLine(text: string): string {
  return (text.split('\n')[0] ?? '').slice(0, quotedMaxChars)
}
