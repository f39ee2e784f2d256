import type { AgentContext } from './agent-context.ts'
import type { AgentRow } from '../registry/agent-table.ts'
import { isLive } from '@flotilla/protocol/agent-lifecycle'
import type { SandboxGone } from '../../events/index.ts'
import { loseSandbox } from './lose-sandbox.ts'

/** How long an agent process has to exit before it is killed, in milliseconds. */
const stopGraceMs = 2000

/**
 * Ends a sandbox that must not continue, with a reason; the agent is restarted after a pause or goes into quarantine.
 * The caller holds the agent's mutex. Does nothing if the agent was restarted or stopped since the check.
 */
export async function endSandbox(
  context: AgentContext,
  looked: AgentRow,
  why: { readonly reason: string; readonly action: string; readonly gone: SandboxGone['reason'] },
): Promise<void> {
  const { id } = looked.record
  const row = context.agents.find(id)
  if (row === null || !isLive(row.state.kind) || row.startId !== looked.startId) return
  // No await until `sandboxGone`: its subscribers interrupt the run before refused calls can make the run fail.
  context.database.transaction(() => {
    context.tokens.revoke(id)
    loseSandbox(context, id, why.reason)
    context.journal.append({
      actor: 'system',
      action: why.action,
      subject: id,
      detail: { start_id: row.startId ?? '', reason: why.reason.slice(0, 300) },
    })
    context.events.publish({ type: 'agent.stopped', agent_id: id, reason: why.reason })
  })
  context.sandboxes.addresses.delete(id)
  context.fleetEvents.sandboxGone.publish({ agentId: id, reason: why.gone })
  await context.runtime.stop(id, { graceMs: stopGraceMs }).catch((error: unknown) => {
    context.log.error(
      { agentId: id, err: error },
      'failed to stop a sandbox; its token is revoked and the next start replaces it',
    )
  })
}
