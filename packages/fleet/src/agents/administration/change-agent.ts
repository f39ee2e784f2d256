import { isLive } from '@flotilla/protocol/agent-lifecycle'
import type { AgentContext } from '../lifecycle/agent-context.ts'
import type { AgentChanges } from '../registry/agent-table.ts'

/**
 * Changes an agent's record, in the caller's transaction if there is one. Returns whether a running sandbox must be
 * re-created before its next run. Does not check permissions. Problem `unknown-agent`.
 */
export type ChangeAgent = (
  agentId: string,
  change: AgentChanges,
) => { readonly takesEffect: 'now' | 'next-run' }

export function changeAgent(context: AgentContext): ChangeAgent {
  return (agentId, change) => {
    const { record, state } = context.agents.require(agentId)
    context.agents.change(agentId, change)
    // A running agent's process received role and model at its start and still uses them.
    const isVisibleToAgent = change.role !== undefined || change.model !== undefined
    const isRunning = isLive(state.kind) || state.kind === 'starting'
    if (!isVisibleToAgent || !isRunning) return { takesEffect: 'now' }
    const startedWith = record.model ?? context.settings.defaultModel()
    if (!context.sandboxes.outdated.has(agentId)) context.sandboxes.outdated.set(agentId, startedWith)
    return { takesEffect: 'next-run' }
  }
}
