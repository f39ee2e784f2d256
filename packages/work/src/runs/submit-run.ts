import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import { operatorAgentId } from '@flotilla/protocol/ids'
import { isProactive } from '@flotilla/protocol/origin'
import type { Origin } from '@flotilla/protocol/origin'
import { Problem } from '@flotilla/protocol/problem'
import type { RunInput } from '@flotilla/protocol/run'
import type { EventBus } from '@flotilla/foundation/events'
import type { Journal } from '@flotilla/foundation/journal'
import type { Caller, Guard } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import type { WorkEvents } from '../events/index.ts'
import type { DomainEvent } from '@flotilla/foundation/events'
import type { Database, DiskSpace } from '@flotilla/foundation/storage'
import { refuseReserved } from './conversation.ts'
import { announceRun } from './ledger/change-run.ts'
import type { RunRecord } from './ledger/run-record.ts'
import type { IdempotencyMark, RunTable } from './ledger/run-table.ts'
import type { SteerTable } from './steering/steer-table.ts'
import { runLimits } from './run-limits.ts'

/** Retry-After of a full lane, seconds. */
const laneFullRetrySeconds = 30

export interface SubmitRunInput {
  readonly agentId: string
  readonly input: RunInput
  /** The caller's key; a repeated call with the same key returns the same run. */
  readonly idempotencyKey?: string | null | undefined
  /** Budget of this run and its descendants, US dollars; never above that of the parent run. */
  readonly budgetUsd?: number | null
  /** Token budget of this run and its descendants; never above that of the parent run. */
  readonly budgetTokens?: number | null
  readonly traceId?: string
  /** The parent run. Use cases of the mesh set it from a live ticket, never from a request body. */
  readonly parent?: RunRecord | null
  /** True if the agent was spawned for this run. Use cases of the mesh set it, never a request body. */
  readonly spawned?: boolean
  /** True if the run continues earlier work of its agent. Use cases of the mesh set it, never a request body. */
  readonly isContinuation?: boolean
  /** The kind of trigger that submits the run; used for the caller `system` only. */
  readonly trigger?: 'cron' | 'heartbeat' | 'webhook' | 'watcher'
  /** The id of the trigger or of its creator; becomes the user of the run's origin. */
  readonly triggerId?: string
  /**
   * A person requests the trigger's run now, for example as a trial: a pause does not hold the run, and a full lane
   * accepts it at its head. The caller allows one such run for each job and heartbeat while the lane is full.
   */
  readonly requestedByPerson?: boolean
}

/**
 * The only way to create a run (R1): the row is written before anything else happens. Problems: `denied`,
 * `unknown-agent`, `bad-request` for a reserved session, `lane-full` and `disk-full` with Retry-After (R6),
 * `conflict` when the key was used for a different request.
 */
export type SubmitRun = (caller: Caller, submitted: SubmitRunInput) => RunRecord

/** Functions that check an agent before it gets work. */
export interface Admission {
  /** Throws the Problem `unknown-agent`, or `agent-archived` for an agent that gets no work. */
  readonly requireAgent: (agentId: string, asker?: 'waits') => void
  readonly workEvents: Pick<WorkEvents, 'reasonsToGiveNoWork'>
  readonly diskSpace: Pick<DiskSpace, 'require'>
}

export interface SubmitRunDeps extends Admission, LaneRows {
  readonly database: Database
  readonly guard: Guard
  readonly clock: Clock
  readonly enter: EnterRun
}

export function createSubmitRun(deps: SubmitRunDeps): SubmitRun {
  const { database, table, steers, guard, enter } = deps
  return (caller, submitted) => {
    const { agentId } = submitted
    if (submitted.spawned === true) guard(caller, { do: 'spawn-agent' })
    else guard(caller, { do: caller.kind === 'agent' ? 'message-agent' : 'submit-run', to: agentId })
    // No client waits for a task; the task waits in the lane until its agent is available.
    const isAwaited = caller.kind === 'human' && submitted.input.kind !== 'task'
    deps.requireAgent(agentId, isAwaited ? 'waits' : undefined)
    if (submitted.spawned !== true && submitted.isContinuation !== true)
      requireTakesWork(deps.workEvents, agentId)
    // Only the mesh itself may submit a chat in a reserved session.
    if (caller.kind !== 'system' && submitted.input.kind === 'chat') refuseReserved(submitted.input.session)
    return database.transaction(() => {
      const origin = originOf(caller, submitted)
      const mark = markOf(caller, origin, submitted.idempotencyKey)
      const known = mark && table.findByKey(mark)
      if (known) return sameRun(known, submitted)
      // The key belongs to a steer, which may become a run with the same key.
      if (mark && steers.findByKey(mark)) throw keyUsed()
      const parent = submitted.parent ?? null
      const proactive = submitted.requestedByPerson !== true && comesOfTrigger(origin, parent)
      const place = { agentId, proactive }
      const goesFirst = submitted.requestedByPerson === true && isLaneFull(deps, place)
      if (goesFirst) deps.diskSpace.require()
      else requireRoom(deps, place)
      return enter({
        agentId,
        input: submitted.input,
        origin,
        proactive,
        actor: actorOf(caller),
        mark,
        parent,
        budgetUsd: submitted.budgetUsd ?? null,
        budgetTokens: submitted.budgetTokens ?? null,
        traceId: submitted.traceId,
        ...(goesFirst ? { queuedSince: table.headOfLane(agentId, deps.clock.now()) } : {}),
      })
    })
  }
}

/** Throws the Problem `conflict` for an agent that accepts only the run it was spawned for. */
export function requireTakesWork(events: Pick<WorkEvents, 'reasonsToGiveNoWork'>, agentId: string): void {
  const [refusal] = events.reasonsToGiveNoWork.ask(agentId)
  if (refusal !== undefined) throw new Problem('conflict', { detail: refusal })
}

/** Returns whether a run with this origin and parent descends from a trigger. Pure. */
export function comesOfTrigger(origin: Origin, parent: RunRecord | null): boolean {
  return isProactive(origin) || (parent?.proactive ?? false)
}

/**
 * Checks the space on disk and in the lane (R6); a waiting steer reserves a place for the run that it may become.
 * Runs of triggers do not take places from runs of people: a flood or a pause of triggers would otherwise block
 * people. Problems `disk-full`, `lane-full`.
 */
export function requireRoom(
  deps: LaneRows & { readonly diskSpace: Pick<DiskSpace, 'require'> },
  place: LanePlace,
): void {
  const { agentId } = place
  deps.diskSpace.require()
  if (!isLaneFull(deps, place)) return
  throw new Problem('lane-full', { retryAfterSeconds: laneFullRetrySeconds, extra: { agent: agentId } })
}

export interface LaneRows {
  readonly table: RunTable
  readonly steers: SteerTable
}

/** A lane, and whether the run that needs a place in it is proactive. */
export interface LanePlace {
  readonly agentId: string
  readonly proactive: boolean
}

/** Returns whether the lane has no place for one more run of this kind. */
export function isLaneFull({ table, steers }: LaneRows, { agentId, proactive }: LanePlace): boolean {
  const queued = proactive ? table.queuedCount(agentId) : table.requestedCount(agentId)
  return queued + steers.waitingInLane(agentId) >= runLimits.laneQueueMax
}

export interface RunEntry {
  readonly agentId: string
  readonly input: RunInput
  readonly origin: Origin
  /** Whether a pause holds the run. */
  readonly proactive: boolean
  /** The actor in the audit log. */
  readonly actor: string
  readonly mark: IdempotencyMark | null
  readonly parent: RunRecord | null
  readonly budgetUsd?: number | null
  readonly budgetTokens?: number | null
  readonly traceId?: string | undefined
  /** When the run counts as queued, if that is not now; decides its place in the lane. Milliseconds since 1970. */
  readonly queuedSince?: number
}

/** Writes the row of a run after permissions and lane were checked. Joins the caller's transaction. */
export type EnterRun = (entry: RunEntry) => RunRecord

export function createEnterRun(deps: {
  readonly database: Database
  readonly table: RunTable
  readonly events: EventBus
  readonly journal: Journal
  readonly notifier: Pick<DomainEvent<string>, 'publish'>
  readonly clock: Clock
  readonly newId: NewId
}): EnterRun {
  const { database, table, events, journal, notifier } = deps
  return (entry) => {
    const run = newRun(deps, entry)
    table.insert(run, entry.mark)
    journal.append({
      actor: entry.actor,
      action: 'run.submitted',
      subject: run.id,
      detail: {
        agent: run.agentId,
        kind: run.kind,
        origin: run.origin.kind,
        channel: run.origin.channel,
        parent: run.parentId,
      },
    })
    announceRun(events, run)
    database.afterCommit(() => notifier.publish(run.agentId))
    return run
  }
}

/** Returns the origin that the run's row stores: the caller and channel. Pure. */
export function originOf(
  caller: Caller,
  { trigger, triggerId }: Pick<SubmitRunInput, 'trigger' | 'triggerId'> = {},
): Origin {
  switch (caller.kind) {
    case 'agent': {
      const kind = caller.agentId === operatorAgentId ? 'operator' : 'agent'
      return { kind, channel: 'agent', user: caller.agentId }
    }
    case 'human':
      return {
        kind: 'human',
        channel: caller.channel,
        ...(caller.user === undefined ? {} : { user: caller.user }),
        ...(caller.role === 'owner' ? {} : { role: caller.role }),
        ...(caller.forwards === undefined ? {} : { forwards: caller.forwards }),
      }
    case 'internal':
      return { kind: 'system', channel: 'internal' }
    case 'system':
      return {
        kind: trigger ?? 'system',
        channel: 'mesh',
        ...(triggerId === undefined ? {} : { user: triggerId }),
      }
  }
}

/** Returns the scope and idempotency key of a call; null without a key. Pure. */
export function markOf(
  caller: Caller,
  origin: Origin,
  key: string | null | undefined,
): IdempotencyMark | null {
  if (key === undefined || key === null) return null
  return { scope: [actorOf(caller), origin.kind, origin.user ?? ''].join('|'), key }
}

function sameRun(known: RunRecord, submitted: SubmitRunInput): RunRecord {
  // Each call of hand_off creates a new task id, so hand_off itself compares the content.
  const sameInput = known.kind === 'task' || JSON.stringify(known.input) === JSON.stringify(submitted.input)
  if (known.agentId === submitted.agentId && known.kind === submitted.input.kind && sameInput) return known
  throw keyUsed()
}

export function keyUsed(): Problem {
  return new Problem('conflict', { detail: 'this idempotency key was used for another request' })
}

function newRun(deps: { readonly clock: Clock; readonly newId: NewId }, entry: RunEntry): RunRecord {
  const now = deps.clock.now()
  const { parent } = entry
  const id = deps.newId('run')
  return {
    id,
    agentId: entry.agentId,
    kind: entry.input.kind,
    origin: Object.freeze(entry.origin),
    input: entry.input,
    state: 'queued',
    attempt: 1,
    turn: 0,
    fence: 0,
    leaseUntil: null,
    parentId: parent?.id ?? null,
    taskId: entry.input.kind === 'task' ? entry.input.task_id : null,
    depth: parent ? parent.depth + 1 : 0,
    proactive: entry.proactive,
    // A child run may not spend more than its parent.
    budgetUsd: lowerOf(entry.budgetUsd, parent?.budgetUsd),
    budgetTokens: lowerOf(entry.budgetTokens, parent?.budgetTokens),
    traceId: entry.traceId ?? parent?.traceId ?? id,
    createdAt: now,
    queuedSince: entry.queuedSince ?? now,
    availableAt: now,
    waitingSince: null,
    startedAt: null,
    turnStartedAt: null,
    endedAt: null,
    interimText: null,
    outcome: null,
    tokensUsed: 0,
    costUsd: 0,
    unconfirmedUsd: 0,
    unconfirmedTokens: 0,
    reportedTokens: 0,
  }
}

/** Returns the lower of two limits; null means no limit. Pure. */
function lowerOf(own: number | null | undefined, parents: number | null | undefined): number | null {
  const caps = [own, parents].filter((cap) => cap !== null && cap !== undefined)
  return caps.length === 0 ? null : Math.min(...caps)
}
