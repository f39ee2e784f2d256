import type { AgentLife } from './agent-life.ts'
import type { AgentRow } from '../registry/agent-table.ts'
import { isLive } from '@flotilla/protocol/agent-lifecycle'
import type { SandboxGone } from '../../kernel/index.ts'
import { loseSandbox } from './lose-sandbox.ts'

const stopGraceMs = 2000

/**
 * Ends a sandbox that must not go on and says why; the agent is started again after a pause, or
 * is in quarantine. For callers that hold the agent's
 * turn. Nothing where the agent was started again, or stopped, since it was looked at.
 */
export async function endSandbox(
  life: AgentLife,
  looked: AgentRow,
  why: { readonly reason: string; readonly action: string; readonly gone: SandboxGone['reason'] },
): Promise<void> {
  const { id } = looked.record
  const row = life.agents.find(id)
  if (row === null || !isLive(row.state.kind) || row.startId !== looked.startId) return
  life.tokens.revoke(id)
  life.sandboxes.addresses.delete(id)
  await life.runtime.stop(id, { graceMs: stopGraceMs }).catch((error: unknown) => {
    life.log.error({ agentId: id, err: error }, 'a sandbox that must not go on could not be stopped')
  })
  life.database.transaction(() => {
    loseSandbox(life, id, why.reason)
    life.journal.append({
      actor: 'system',
      action: why.action,
      subject: id,
      detail: { start_id: row.startId ?? '', reason: why.reason.slice(0, 300) },
    })
    life.events.publish({ type: 'agent.stopped', agent_id: id, reason: why.reason })
  })
  life.hooks.sandboxGone.tell({ agentId: id, reason: why.gone })
}
