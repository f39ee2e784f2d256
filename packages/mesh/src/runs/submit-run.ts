import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import { operatorAgentId } from '@flotilla/protocol/ids'
import { wireLimits } from '@flotilla/protocol/limits'
import { isProactive } from '@flotilla/protocol/origin'
import type { Origin } from '@flotilla/protocol/origin'
import { Problem } from '@flotilla/protocol/problem'
import type { RunInput } from '@flotilla/protocol/run'
import type { EventBus } from '../events/index.ts'
import type { Journal } from '../journal/index.ts'
import type { Caller, Guard } from '../access/index.ts'
import { actorOf } from '../access/index.ts'
import type { Hooks } from '../kernel/index.ts'
import type { Database, DiskSpace } from '../storage/index.ts'
import type { Hook } from '../kernel/index.ts'
import { refuseReserved } from './conversation.ts'
import { announceRun } from './lifecycle/change-run.ts'
import type { RunRecord } from './lifecycle/run-record.ts'
import type { IdempotencyMark, RunTable } from './lifecycle/run-table.ts'
import type { SteerTable } from './steering/steer-table.ts'

/** When a caller of a full lane may try again, seconds. */
const laneFullRetrySeconds = 30

export interface SubmitRunInput {
  readonly agentId: string
  readonly input: RunInput
  /** The same key of the same caller gives the same run. */
  readonly idempotencyKey?: string | null | undefined
  /** Cap of this run and of what it gives away, US dollars; never above that of the run that asks. */
  readonly budgetUsd?: number | null
  /** The same in tokens. */
  readonly budgetTokens?: number | null
  readonly traceId?: string
  /** The run that asks; set by use cases of the mesh from a live ticket, never from a body. */
  readonly parent?: RunRecord | null
  /** The agent was made for this run by whoever asks; set by use cases of the mesh, never from a body. */
  readonly spawned?: boolean
  /** It goes on with the work that its agent was given before; set by use cases of the mesh, never from a body. */
  readonly goesOn?: boolean
  /** What set the mesh itself to work; counts for the caller `system` only. */
  readonly trigger?: 'cron' | 'heartbeat' | 'webhook' | 'watcher'
  /** Which one of them, or who made it; the user of the run's origin. */
  readonly triggerId?: string
  /**
   * A person asks for the trigger's run at this moment, as by a trial: no pause holds it, and a full lane takes it at its
   * head. Whoever says so keeps to one such run for each job and heartbeat while the lane is full.
   */
  readonly askedByPerson?: boolean
}

/**
 * The one way in (R1): the run is a row before anything happens. Problems: `denied`, `unknown-agent`, `bad-request` for a
 * conversation that is not to be spoken in, `lane-full` and `disk-full` with Retry-After (R6), `conflict` where the key was used for something else.
 */
export type SubmitRun = (caller: Caller, submitted: SubmitRunInput) => RunRecord

/** What an agent is asked before it is given work. */
export interface Admission {
  /** Throws the Problem `unknown-agent`, or `agent-archived` for one that is given no work. */
  readonly requireAgent: (agentId: string, asker?: 'waits') => void
  readonly hooks: Pick<Hooks, 'reasonsToGiveNoWork'>
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
    // A task is looked after later, and waits in the lane until its agent is well.
    const isAwaited = caller.kind === 'human' && submitted.input.kind !== 'task'
    deps.requireAgent(agentId, isAwaited ? 'waits' : undefined)
    if (submitted.spawned !== true && submitted.goesOn !== true) requireTakesWork(deps.hooks, agentId)
    // The mesh itself goes on in what it began.
    if (caller.kind !== 'system' && submitted.input.kind === 'chat') refuseReserved(submitted.input.session)
    return database.transaction(() => {
      const origin = originOf(caller, submitted)
      const mark = markOf(caller, origin, submitted.idempotencyKey)
      const known = mark && table.findByKey(mark)
      if (known) return sameRun(known, submitted)
      // The key of a steer will be the key of the run that it may become.
      if (mark && steers.findByKey(mark)) throw keyUsed()
      const parent = submitted.parent ?? null
      const proactive = submitted.askedByPerson !== true && comesOfTrigger(origin, parent)
      const place = { agentId, proactive }
      const goesFirst = submitted.askedByPerson === true && isLaneFull(deps, place)
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

/** Problem `conflict` of an agent that is given no run but its own, whatever the run would come of. */
export function requireTakesWork(hooks: Pick<Hooks, 'reasonsToGiveNoWork'>, agentId: string): void {
  const [refusal] = hooks.reasonsToGiveNoWork.ask(agentId)
  if (refusal !== undefined) throw new Problem('conflict', { detail: refusal })
}

/** Whether a trigger began it, itself or by what it comes of. Pure. */
export function comesOfTrigger(origin: Origin, parent: RunRecord | null): boolean {
  return isProactive(origin) || (parent?.proactive ?? false)
}

/**
 * Room on the disk, and in the lane (R6); a steer that waits holds the place of the run that it may become. What
 * triggers queued takes no room from what people ask for: a flood, or a pause that holds it, would shut them out.
 * Problems `disk-full`, `lane-full`.
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

/** Whose lane, and whether a trigger queues there or a person. */
export interface LanePlace {
  readonly agentId: string
  readonly proactive: boolean
}

/** Whether one more would be beyond the bound. */
export function isLaneFull({ table, steers }: LaneRows, { agentId, proactive }: LanePlace): boolean {
  const queued = proactive ? table.queuedCount(agentId) : table.askedCount(agentId)
  return queued + steers.waitingInLane(agentId) >= wireLimits.laneQueueMax
}

export interface RunEntry {
  readonly agentId: string
  readonly input: RunInput
  readonly origin: Origin
  /** Whether a pause holds it. */
  readonly proactive: boolean
  /** For the journal. */
  readonly actor: string
  readonly mark: IdempotencyMark | null
  readonly parent: RunRecord | null
  readonly budgetUsd?: number | null
  readonly budgetTokens?: number | null
  readonly traceId?: string | undefined
  /** Its place in the lane where that is not the end, milliseconds since 1970. */
  readonly queuedSince?: number
}

/** Writes the row of a run whose caller may and whose lane has room. Joins the caller's transaction. */
export type EnterRun = (entry: RunEntry) => RunRecord

export function createEnterRun(deps: {
  readonly database: Database
  readonly table: RunTable
  readonly events: EventBus
  readonly journal: Journal
  readonly notifier: Pick<Hook<string>, 'tell'>
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
    database.afterCommit(() => notifier.tell(run.agentId))
    return run
  }
}

/** Who asked, as the line shows it; frozen into the row. Pure. */
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

/** Pure. */
export function markOf(
  caller: Caller,
  origin: Origin,
  key: string | null | undefined,
): IdempotencyMark | null {
  if (key === undefined || key === null) return null
  return { scope: [actorOf(caller), origin.kind, origin.user ?? ''].join('|'), key }
}

function sameRun(known: RunRecord, submitted: SubmitRunInput): RunRecord {
  // A task's id is made anew by every call of hand_off, which compares what was handed off itself.
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
    // A child may not spend what its asker may not.
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
  }
}

/** Pure. Null stands for no cap. */
function lowerOf(own: number | null | undefined, parents: number | null | undefined): number | null {
  const caps = [own, parents].filter((cap) => cap !== null && cap !== undefined)
  return caps.length === 0 ? null : Math.min(...caps)
}
