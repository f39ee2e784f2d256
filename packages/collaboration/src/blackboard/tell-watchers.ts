import type { BlackboardEntry } from '@flotilla/protocol/blackboard-entry'
import { watchLimits } from '@flotilla/protocol/blackboard-limits'
import type { Clock } from '@flotilla/protocol/clock'
import { steerLimits } from '@flotilla/protocol/steer-limits'
import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { unattendedSession } from '@flotilla/protocol/unattended-session'
import type { Action, Caller, Decision } from '@flotilla/identity/access'
import { keyMatcher } from '@flotilla/identity/access'
import type { LoopShare, StepWork } from '@flotilla/foundation/intake'
import { reasonToPause } from '@flotilla/work/events'
import type { WorkEvents } from '@flotilla/work/events'
import type { Log } from '@flotilla/foundation/platform'
import type { RunQueries, RunQueue, RunSteering } from '@flotilla/work/runs'
import type { Database } from '@flotilla/foundation/storage'
import type { BlackboardWatchTable, WatchRow, WatchedChange } from './watch-table.ts'

/** The interval at which undelivered changes are retried, in milliseconds, because an obstacle may be gone. */
const pollIntervalMs = 5000
const hourMs = 3600_000
const head = 'Other agents or people wrote these blackboard entries that you watch:'
const tail = 'Read what you need with read_blackboard.'

/**
 * Delivers changes to the agents that watch them, by a new run or by a steer to a running one. A change is stored in
 * the transaction of the write and deleted in the transaction that creates the run or steer, so that a crash neither
 * loses nor repeats it. While the last run of a watch is still queued, changes are collected, keeping the newest of
 * each key.
 */
export interface TellWatchers {
  /** Stores the change in the transaction of the write. The writer itself is not notified. */
  note(entry: BlackboardEntry): void
  /** Delivers every change whose delivery is not blocked. */
  deliver(): void
  heldBecause(watchId: string): string | null
  run(signal: AbortSignal): Promise<void>
}

export function createNotifyWatchers(deps: {
  readonly database: Database
  readonly table: BlackboardWatchTable
  readonly decide: (caller: Caller, action: Action) => Decision
  readonly runs: Pick<RunQueue, 'submitRun'> & Pick<RunSteering, 'steerRun'> & Pick<RunQueries, 'find'>
  readonly workEvents: Pick<WorkEvents, 'reasonsToPause'>
  readonly clock: Clock
  readonly log: Log
  readonly loop: Pick<LoopShare, 'inSteps'>
}): TellWatchers {
  const { database, table, runs, clock } = deps
  let bell = new AbortController()

  const mayRead = (agentId: string, key: string): boolean =>
    deps.decide({ kind: 'agent', agentId, token: 'door', run: null }, { do: 'read-blackboard', key }).allowed

  const thisHour = (): number => Math.floor(clock.now() / hourMs)

  function obstacle(watch: WatchRow): string | null {
    const paused = reasonToPause(deps.workEvents, watch.agent_id)
    if (paused !== null) return paused
    if (table.toldInHour(watch.agent_id, thisHour()) >= watchLimits.notifiedPerAgentAndHourMax) {
      return `the agent was notified ${watchLimits.notifiedPerAgentAndHourMax} times in this hour`
    }
    const last = watch.last_run_id === null ? null : runs.find(watch.last_run_id)
    return last?.state === 'queued' ? `${last.id}, which reports earlier changes, has not started` : null
  }

  function notify(watch: WatchRow, changes: readonly WatchedChange[]): void {
    const { text, told: included } = formatChanges(changes)
    const key = `${watch.id}:${watch.told}`
    database.transaction(() => {
      const runId = watch.tell === 'steer' ? steer(watch, text, key) : submit(watch, text, key)
      table.forgetChanges(included.map(({ position }) => position))
      table.told(watch, { runId, hour: thisHour() })
    })
  }

  function submit(watch: WatchRow, message: string, idempotencyKey: string): string {
    return runs.submitRun(
      { kind: 'system' },
      {
        agentId: watch.agent_id,
        input: { kind: 'chat', message, session: unattendedSession.blackboard(watch.id) },
        trigger: 'watcher',
        triggerId: watch.id,
        idempotencyKey,
      },
    ).id
  }

  function steer(watch: WatchRow, text: string, idempotencyKey: string): string | null {
    const { becameRunId } = runs.steerRun(
      { kind: 'system' },
      { agentId: watch.agent_id, text, idempotencyKey, trigger: 'watcher', triggerId: watch.id },
    )
    return becameRunId
  }

  /** Yields between decisions, because an agent with many patterns takes milliseconds for each of them. */
  function* deliverOne(watch: WatchRow): StepWork<void> {
    if (obstacle(watch) !== null) return
    const readable: WatchedChange[] = []
    const hidden: WatchedChange[] = []
    for (const change of table.changes(watch.id)) {
      yield
      if (mayRead(watch.agent_id, change.key)) readable.push(change)
      else hidden.push(change)
    }
    // The watch or some of its changes may have been deleted during a pause.
    const still = new Set(table.changes(watch.id).map(({ position }) => position))
    const left = readable.filter(({ position }) => still.has(position))
    // Drops changes that the agent may no longer read.
    if (hidden.length > 0) table.forgetChanges(hidden.map(({ position }) => position))
    if (left.length > 0) notify(watch, left)
  }

  function* deliverAll(): StepWork<void> {
    const waiting = new Set(table.waiting())
    for (const watch of table.all().filter(({ id }) => waiting.has(id))) {
      try {
        yield* deliverOne(watch)
      } catch (error) {
        // If the agent's lane or the disk is full, or the agent is archived, the changes wait and are retried.
        if (error instanceof Problem) continue
        deps.log.error(
          { watchId: watch.id, err: error },
          'failed to notify a watch of a blackboard change; retrying',
        )
      }
    }
  }

  return {
    note: (entry) => {
      const matches = keyMatcher(entry.key)
      const mayReadIt = memoized((agentId) => mayRead(agentId, entry.key))
      const watching = table
        .all()
        .filter(({ agent_id, pattern }) => agent_id !== entry.written_by && matches(pattern))
        .filter(({ agent_id }) => mayReadIt(agent_id))
      for (const { id } of watching) {
        const { key, version, written_by, updated_at: written_at } = entry
        table.note(id, { key, version, written_by, written_at })
      }
      if (watching.length > 0) database.afterCommit(() => bell.abort())
    },
    deliver: () => {
      const all = deliverAll()
      while (all.next().done !== true);
    },
    heldBecause: (watchId) => {
      const watch = table.all().find(({ id }) => id === watchId)
      return watch ? obstacle(watch) : null
    },
    run: async (signal) => {
      while (!signal.aborted) {
        bell = new AbortController()
        await deps.loop.inSteps(null, deliverAll(), 'finish')
        await clock.sleep(pollIntervalMs, AbortSignal.any([signal, bell.signal])).catch(() => {})
      }
    },
  }
}

/** Caches the answer for each agent, because one agent can have many watches. */
function memoized(ask: (agentId: string) => boolean): (agentId: string) => boolean {
  const answers = new Map<string, boolean>()
  return (agentId) => {
    const answer = answers.get(agentId) ?? ask(agentId)
    answers.set(agentId, answer)
    return answer
  }
}

/** Formats as many changes as fit into one message; the other changes follow in the next message. Pure. */
function formatChanges(changes: readonly WatchedChange[]): {
  readonly text: string
  readonly told: readonly WatchedChange[]
} {
  const included: WatchedChange[] = []
  const lines: string[] = []
  let chars = head.length + tail.length + 2
  for (const change of changes) {
    const line = `- ${change.key}: version ${change.version}, by ${change.written_by}`
    chars += line.length + 1
    if (included.length > 0 && chars > steerLimits.maxChars) break
    included.push(change)
    lines.push(line)
  }
  return { text: sanitizeForPrompt([head, ...lines, tail].join('\n')), told: included }
}
