import type {
  ChatHistory,
  ChatResetReply,
  ChatSessions as ListedSessions,
} from '@flotilla/protocol/chat-history'
import { Problem } from '@flotilla/protocol/problem'
import type { AgentConversations } from '@flotilla/fleet/agents'
import type { Journal } from '@flotilla/foundation/journal'
import { reachMaxMs } from '@flotilla/identity/kernel'
import type { Caller, Guard } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import type { RunQueries } from '../ledger.ts'

/**
 * Lists and resets the sessions that an agent stores. Starts the agent if it does not run. Problems: `denied`,
 * `unknown-agent`, `agent-archived`, `agent-unavailable`.
 */
export interface ChatSessions {
  /** Lists the agent's sessions, newest first. */
  list(caller: Caller, agentId: string): Promise<ListedSessions>
  history(
    caller: Caller,
    agentId: string,
    query: { readonly session: string; readonly limit: number },
  ): Promise<ChatHistory>
  /** Archives the session and starts it empty. Problem `conflict` while a run uses or will continue the session. */
  reset(caller: Caller, agentId: string, session: string): Promise<ChatResetReply>
}

export function createChatSessions(deps: {
  readonly guard: Guard
  readonly journal: Journal
  readonly queries: Pick<RunQueries, 'runIn'>
  readonly agents: {
    readonly requireWorking: (agentId: string) => void
    readonly reach: (agentId: string, signal: AbortSignal) => Promise<AgentConversations>
  }
}): ChatSessions {
  const { guard, journal, queries, agents } = deps

  async function asking<T>(
    agentId: string,
    ask: (connection: AgentConversations, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    agents.requireWorking(agentId)
    const signal = AbortSignal.timeout(reachMaxMs)
    return ask(await agents.reach(agentId, signal), signal)
  }

  function refuseInUse(agentId: string, session: string): void {
    const run = queries.runIn(agentId, session)
    if (!run) return
    throw new Problem('conflict', {
      detail: `run ${run.id} is ${run.state} in the conversation ${session}; wait until the run has ended, or cancel it with flotilla cancel ${run.id}`,
      extra: { run_id: run.id, state: run.state },
    })
  }

  return {
    list: async (caller, agentId) => {
      guard(caller, { do: 'view-fleet' })
      return asking(agentId, (connection, signal) => connection.chatSessions(signal))
    },
    history: async (caller, agentId, query) => {
      guard(caller, { do: 'view-fleet' })
      return asking(agentId, (connection, signal) => connection.chatHistory(query, signal))
    },
    reset: async (caller, agentId, session) => {
      guard(caller, { do: 'submit-run', to: agentId })
      return asking(agentId, async (connection, signal) => {
        // The agent itself checks once more, because a run may have started in the meantime.
        refuseInUse(agentId, session)
        const reply = await connection.chatReset(session, signal)
        const detail = { session, archived_messages: reply.archived_messages }
        journal.append({ actor: actorOf(caller), action: 'chat.reset', subject: agentId, detail })
        return reply
      })
    },
  }
}
