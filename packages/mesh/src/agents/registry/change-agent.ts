import { isLive } from '@flotilla/protocol/agent-lifecycle'
import type { AgentContext } from '../lifecycle/agent-context.ts'
import type { AgentChanges } from './agent-table.ts'

/**
 * Writes changes of an agent's record, in the caller's transaction where there is one. Says whether a sandbox that
 * runs has to be re-created first; it is, before its next run. Decides nothing about who may. Problem `unknown-agent`.
 */
export type ChangeAgent = (
  agentId: string,
  change: AgentChanges,
) => { readonly takesEffect: 'now' | 'next-run' }

export function changeAgent(context: AgentContext): ChangeAgent {
  return (agentId, change) => {
    const { record, state } = context.agents.require(agentId)
    context.agents.change(agentId, change)
    // The process received role and model at its start and still uses that model.
    const isTold = change.role !== undefined || change.model !== undefined
    const isRunning = isLive(state.kind) || state.kind === 'starting'
    if (!isTold || !isRunning) return { takesEffect: 'now' }
    const startedWith = record.model ?? context.settings.defaultModel()
    if (!context.sandboxes.outdated.has(agentId)) context.sandboxes.outdated.set(agentId, startedWith)
    return { takesEffect: 'next-run' }
  }
}
