import { isLive } from '@flotilla/protocol/agent-lifecycle'
import type { SandboxState } from '../../sandbox/index.ts'
import type { AgentRow } from '../registry/agent-table.ts'
import type { AgentContext } from './agent-context.ts'
import { startIdLabel } from './agent-sandbox.ts'

/** Interval between two checks of all sandboxes that the engine holds for this home, milliseconds. */
const pollIntervalMs = 600_000

/**
 * Removes running sandboxes that belong to no agent, to an earlier start, or to an agent at rest. Their tokens are
 * invalid, but they would still use memory. Their data is kept; only a deletion destroys data.
 */
export function createRemoveOrphans(context: AgentContext): () => Promise<void> {
  let checkedAt = context.clock.now()
  return async () => {
    const now = context.clock.now()
    if (now - checkedAt < pollIntervalMs) return
    checkedAt = now
    for (const sandbox of await context.runtime.list()) {
      if (isKept(context.agents.find(sandbox.agentId), sandbox)) continue
      await context.mutex.take(sandbox.agentId, async () => {
        const { agentId } = sandbox
        // A start may have replaced the sandbox after the sandboxes were listed.
        const still = await context.runtime.inspect(agentId)
        if (still === null || isKept(context.agents.find(agentId), still)) return
        context.log.warn({ agentId }, 'removed an orphaned sandbox')
        await context.runtime.remove(agentId, { data: false })
      })
    }
  }
}

/** Returns whether a sandbox is kept. An ended one is kept for its log until its agent is deleted or starts. Pure. */
function isKept(row: AgentRow | null, sandbox: SandboxState): boolean {
  if (row === null) return false
  if (!sandbox.running) return true
  const isUp = isLive(row.state.kind) || row.state.kind === 'starting'
  return isUp && row.startId !== null && sandbox.labels[startIdLabel] === row.startId
}
