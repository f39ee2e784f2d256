import { noSuchAgent } from '@flotilla/protocol/no-such-agent'
import * as z from 'zod'
import type { Clock } from '@flotilla/protocol/clock'
import type { PauseView, ResumeResult } from '@flotilla/protocol/pause-api'
import { Problem } from '@flotilla/protocol/problem'
import type { EventBus } from '@flotilla/foundation/events'
import type { Journal } from '@flotilla/foundation/journal'
import type { Caller, Guard } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import type { RunRecord } from '../runs/index.ts'
import type { Database } from '@flotilla/foundation/storage'

/** The functions of the run ledger that the kill switch calls. */
export interface PausedLanes {
  /** Returns queued and running runs of an agent that descend from a trigger, oldest first. */
  proactiveOf(agentId: string): readonly RunRecord[]
  releaseProactive(agentId: string): void
  cancelRun(caller: Caller, runId: string): unknown
}

/**
 * The kill switch: while an agent or the fleet is paused, no run of a trigger starts. Work that people request
 * continues as always. A pause of an agent includes all agents that it spawned and their children. Triggers call
 * `reasonFor` and record the runs that they skip; queued runs stay queued.
 */
export interface Pauses {
  /** Returns why the agent may not start proactive work now; null if it may. Reads no disk. */
  reasonFor(agentId: string): string | null
  /**
   * Pauses an agent or the fleet; `now` also cancels running runs of triggers. Problems `denied`, `unknown-agent`.
   */
  pause(caller: Caller, request: PauseInput): PauseView
  /** Ends a pause; overdue triggers fire once. Problems `denied`, `unknown-agent`, `conflict` without a pause. */
  resume(caller: Caller, agentId: string | null): ResumeResult
  list(caller: Caller): readonly PauseView[]
  view(): readonly PauseView[]
  /** Removes the pause of an agent that is being deleted. */
  forget(agentId: string): void
}

export interface PauseInput {
  /** The agent to pause; null for the whole fleet. */
  readonly agentId: string | null
  readonly reason: string
  readonly now: boolean
}

export function createPauses(deps: {
  readonly database: Database
  readonly clock: Clock
  readonly guard: Guard
  readonly journal: Journal
  readonly events: EventBus
  readonly lanes: PausedLanes
  readonly agentIds: () => readonly string[]
  /** Returns the agent that spawned the given one; null if none did. */
  readonly makerOf: (agentId: string) => string | null
}): Pauses {
  const { database, clock, journal, events, lanes } = deps
  const table = createPauseTable(database)
  let byScope = read()

  function read(): ReadonlyMap<string, PauseRecord> {
    return new Map(table.list().map((pause) => [pause.scope, pause]))
  }

  function agentsIn(agentId: string | null): readonly string[] {
    const ids = deps.agentIds()
    if (agentId === null) return ids
    if (ids.includes(agentId)) return ids.filter((id) => linesOf(id).includes(agentId))
    throw noSuchAgent(agentId, ids)
  }

  /** Returns the agent and its ancestors, nearest first. */
  function linesOf(agentId: string): readonly string[] {
    const lines: string[] = []
    for (let id: string | null = agentId; id !== null && !lines.includes(id); id = deps.makerOf(id))
      lines.push(id)
    return lines
  }

  function pauseOf(scopes: ReadonlyMap<string, PauseRecord>, agentId: string): PauseRecord | null {
    if (scopes.size === 0) return null
    const scope = [fleetScope, ...linesOf(agentId)].find((one) => scopes.has(one))
    return scope === undefined ? null : (scopes.get(scope) ?? null)
  }

  function viewOf(pause: PauseRecord): PauseView {
    const agentId = pause.scope === fleetScope ? null : pause.scope
    const held = agentsIn(agentId).flatMap((id) => lanes.proactiveOf(id))
    return {
      agent_id: agentId,
      reason: pause.reason,
      by: pause.actor,
      since: pause.since,
      held: held.filter((run) => !isAtWork(run)).length,
      working: held.filter(isAtWork).map(({ id }) => id),
    }
  }

  function note(actor: string, action: 'paused' | 'resumed', { agentId, reason }: PauseChange): void {
    journal.append({ actor, action: `work.${action}`, subject: agentId ?? 'fleet', detail: { reason } })
    events.publish({ type: `work.${action}`, agent_id: agentId, reason, actor })
  }

  const view = () => [...byScope.values()].map(viewOf)
  return {
    reasonFor: (agentId) => pauseOf(byScope, agentId)?.reason ?? null,
    pause: (caller, { agentId, reason, now }) => {
      deps.guard(caller, { do: 'pause-work' })
      const agents = agentsIn(agentId)
      const scope = agentId ?? fleetScope
      const since = byScope.get(scope)?.since ?? clock.now()
      const pause: PauseRecord = { scope, reason, actor: actorOf(caller), since }
      database.transaction(() => {
        table.put(pause)
        note(pause.actor, 'paused', { agentId, reason })
      })
      byScope = read()
      if (now) {
        const runs = agents.flatMap((id) => lanes.proactiveOf(id))
        for (const run of runs) if (isAtWork(run)) lanes.cancelRun(caller, run.id)
      }
      return viewOf(pause)
    },
    resume: (caller, agentId) => {
      deps.guard(caller, { do: 'pause-work' })
      const agents = agentsIn(agentId)
      const pause = byScope.get(agentId ?? fleetScope)
      if (!pause) throw new Problem('conflict', { detail: notPaused(agentId, byScope.has(fleetScope)) })
      const left = new Map([...byScope].filter(([scope]) => scope !== pause.scope))
      const free = agents.filter((id) => pauseOf(left, id) === null)
      const released = free.flatMap(heldOf).length
      database.transaction(() => {
        table.remove(pause.scope)
        note(actorOf(caller), 'resumed', { agentId, reason: pause.reason })
        // Memory changes only after the commit, so that everything stays paused if the write fails.
        database.afterCommit(() => (byScope = left))
        for (const id of free) lanes.releaseProactive(id)
      })
      return { agent_id: agentId, released, still_paused: agents.filter((id) => !free.includes(id)) }
    },
    list: (caller) => {
      deps.guard(caller, { do: 'view-fleet' })
      return view()
    },
    view,
    forget: (agentId) => {
      table.remove(agentId)
      database.afterCommit(() => (byScope = read()))
    },
  }

  function heldOf(agentId: string): readonly RunRecord[] {
    return lanes.proactiveOf(agentId).filter((run) => !isAtWork(run))
  }
}

/** Returns whether the run is executing, or was interrupted while executing and continues by itself. Pure. */
function isAtWork({ state, attempt }: RunRecord): boolean {
  return state === 'running' || attempt > 1
}

interface PauseChange {
  readonly agentId: string | null
  readonly reason: string
}

function notPaused(agentId: string | null, fleetIs: boolean): string {
  if (agentId === null) return 'the fleet is not paused'
  return fleetIs
    ? `the whole fleet is paused, not only ${agentId}; to end that pause: flotilla resume`
    : `${agentId} is not paused`
}

/** The scope of the whole fleet; no agent can have this id. */
const fleetScope = '*'

interface PauseRecord {
  /** An agent's id, or `*`. */
  readonly scope: string
  readonly reason: string
  readonly actor: string
  /** Milliseconds since 1970. */
  readonly since: number
}

const rowSchema = z.object({ scope: z.string(), reason: z.string(), actor: z.string(), since: z.number() })

function createPauseTable(database: Database) {
  return {
    list: (): readonly PauseRecord[] =>
      database
        .prepare('SELECT scope, reason, actor, since FROM pauses ORDER BY scope')
        .all()
        .map((row) => rowSchema.parse(row)),
    put: ({ scope, reason, actor, since }: PauseRecord): void => {
      database
        .prepare(
          'INSERT INTO pauses (scope, reason, actor, since) VALUES (?, ?, ?, ?) ON CONFLICT (scope) DO UPDATE SET reason = excluded.reason, actor = excluded.actor, since = excluded.since',
        )
        .run(scope, reason, actor, since)
    },
    remove: (scope: string): boolean =>
      database.prepare('DELETE FROM pauses WHERE scope = ?').run(scope).changes === 1,
  }
}
