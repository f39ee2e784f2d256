import type { Action, Caller, Decision } from '@flotilla/identity/access'

/** Returns a function that says why an agent may not use a browser: deleted, archived or denied; null if it may. */
export function createWithheld(deps: {
  readonly find: (agentId: string) => object | null
  readonly isArchived: (agentId: string) => boolean
  readonly decide: (caller: Caller, action: Action) => Decision
}): (agentId: string) => string | null {
  return (agentId) => {
    if (deps.find(agentId) === null) return 'the agent was deleted'
    if (deps.isArchived(agentId)) return 'the agent is archived'
    const agent: Caller = { kind: 'agent', agentId, token: 'door', run: null }
    const may = deps.decide(agent, { do: 'use-browser', browserAction: 'navigate' })
    return may.allowed ? null : may.reason
  }
}
