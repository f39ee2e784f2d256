import { watchLimits } from '@flotilla/protocol/blackboard-limits'
import type { WatchDelivery } from '@flotilla/protocol/blackboard-limits'
import type { BlackboardWatchView } from '@flotilla/protocol/blackboard-api'
import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import { Problem } from '@flotilla/protocol/problem'
import type { Caller, Guard } from '@flotilla/identity/access'
import { actorOf, projectOfName } from '@flotilla/identity/access'
import { hasRoom } from '@flotilla/foundation/intake'
import type { Journal } from '@flotilla/foundation/journal'
import type { Database } from '@flotilla/foundation/storage'
import type { BlackboardWatchTable } from './watch-table.ts'

export interface WatchWish {
  readonly agentId: string
  readonly pattern: string
  /** `off` ends the watch. */
  readonly tell: WatchDelivery | 'off'
}

export interface BlackboardWatches {
  /**
   * Notifies an agent of what others write under a pattern; an agent can do so only for itself. Setting the same
   * pattern again changes how the agent is notified. Problems `denied`, `unknown-agent`, `not-found` for ending a
   * watch that does not exist, `unprocessable` at a limit.
   */
  set(caller: Caller, wish: WatchWish): readonly BlackboardWatchView[]
  /**
   * Sets a watch for any agent, for callers that may manage the fleet; templates use it. Joins the caller's
   * transaction.
   */
  give(caller: Caller, wish: WatchWish & { readonly tell: WatchDelivery }): void
  /** Returns the watches of an agent without a check; the caller has been authorized already. */
  of(agentId: string): readonly { readonly pattern: string; readonly tell: WatchDelivery }[]
  /** Lists an agent's own watches; people see all. Problem `denied`. */
  list(caller: Caller): readonly BlackboardWatchView[]
}

export function createBlackboardWatches(deps: {
  readonly database: Database
  readonly table: BlackboardWatchTable
  readonly guard: Guard
  /** Problem `unknown-agent`. */
  readonly requireAgent: (agentId: string) => void
  /** Returns the reason why changes of a watch are not delivered now; null if they are delivered. */
  readonly heldBecause: (watchId: string) => string | null
  readonly journal: Journal
  readonly clock: Clock
  readonly newId: NewId
}): BlackboardWatches {
  const { database, table, guard } = deps

  function list(caller: Caller): readonly BlackboardWatchView[] {
    if (caller.kind === 'agent') guard(caller, { do: 'act-for-self', agentId: caller.agentId })
    else guard(caller, { do: 'view-fleet' })
    return table
      .all()
      .filter((watch) => caller.kind !== 'agent' || watch.agent_id === caller.agentId)
      .map(({ id, agent_id, pattern, tell, created_by, created_at }) => {
        const waiting = table.waitingCount(id)
        const held = waiting === 0 ? null : deps.heldBecause(id)
        return { id, agent_id, pattern, tell, created_by, created_at, waiting, held }
      })
  }

  function requireRoom(agentId: string): void {
    const all = table.all()
    const own = all.filter((watch) => watch.agent_id === agentId)
    const { perAgentMax, max, floor } = watchLimits
    if (hasRoom({ own: own.length, total: all.length }, { perAgentMax, max, floor })) return
    throw new Problem('unprocessable', {
      detail: `an agent may watch at most ${watchLimits.perAgentMax} patterns, and all agents together ${watchLimits.max}; end another watch first`,
    })
  }

  function put(caller: Caller, { agentId, pattern, tell }: WatchWish): void {
    // For other keys each change is checked when it is delivered. Keys of a project cannot even be watched from
    // outside.
    if (projectOfName(pattern) !== null) guard(caller, { do: 'read-blackboard', key: pattern })
    deps.requireAgent(agentId)
    const known = table.all().find((watch) => watch.agent_id === agentId && watch.pattern === pattern)
    if (tell === 'off' && !known) {
      throw new Problem('not-found', { detail: `${agentId} does not watch ${pattern}` })
    }
    if (!known) requireRoom(agentId)
    database.transaction(() => {
      if (tell === 'off' && known) table.remove(known.id)
      else if (tell !== 'off') {
        table.put({
          id: known?.id ?? deps.newId('watch'),
          agent_id: agentId,
          pattern,
          tell,
          created_by: actorOf(caller),
          created_at: deps.clock.now(),
        })
      }
      deps.journal.append({
        actor: actorOf(caller),
        action: tell === 'off' ? 'blackboard.unwatched' : 'blackboard.watched',
        subject: agentId,
        detail: { pattern, tell },
      })
    })
  }

  return {
    list,
    of: (agentId) => table.all().filter((watch) => watch.agent_id === agentId),
    give: (caller, wish) => {
      guard(caller, { do: 'manage-fleet' })
      put(caller, wish)
    },
    set: (caller, wish) => {
      if (caller.kind === 'agent') guard(caller, { do: 'act-for-self', agentId: wish.agentId })
      else guard(caller, { do: 'manage-fleet' })
      put(caller, wish)
      return list(caller)
    },
  }
}
