import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import { steerLimits } from '@flotilla/protocol/steer-limits'
import { Problem } from '@flotilla/protocol/problem'
import type { Caller, Guard } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import type { Database } from '@flotilla/foundation/storage'
import type { LiveRuns } from '../ledger/live-runs.ts'
import type { RunRecord } from '../ledger/run-record.ts'
import type { IdempotencyMark, RunTable } from '../ledger/run-table.ts'
import { recordSteer } from './record-steer.ts'
import type { SteerRecorders } from './record-steer.ts'
import type { BecomeRun } from './release-steers.ts'
import { defaultSession, refuseReserved, sessionOf } from '../conversation.ts'
import type { SteerRecord, SteerTable } from './steer-table.ts'
import { comesOfTrigger, keyUsed, markOf, originOf, requireRoom, requireTakesWork } from '../submit-run.ts'
import type { Admission } from '../submit-run.ts'

export interface SteerRunInput {
  readonly agentId: string
  readonly text: string
  /** The session of the run to steer; null for any run of the agent, or else the caller's own session. */
  readonly session?: string | null | undefined
  /** The caller's key; a repeated call with the same key returns the same steer. */
  readonly idempotencyKey?: string | null | undefined
  /**
   * What triggered the steer; used for the caller `system` only. If the steer becomes a run, that run belongs to the
   * trigger.
   */
  readonly trigger?: 'watcher'
  /** The id of the trigger. */
  readonly triggerId?: string
}

/**
 * Sends a message to an agent at work (R1), stored as a row of the run that holds the agent's lane. The agent reads
 * it within that run, or it becomes a run. If the agent is idle, a person's steer is a run at once, and an agent is
 * referred to `hand_off`. Problems: `denied`, `unknown-agent`, `lane-full`; `conflict` when the key was used for a
 * different request, an agent steers an idle one, or an idle agent accepts only its own run; `unprocessable` when the
 * run has its maximum of steers.
 */
export type SteerRun = (caller: Caller, input: SteerRunInput) => SteerRecord

export interface SteerRunDeps extends Admission, SteerRecorders {
  readonly database: Database
  readonly table: RunTable
  readonly steers: SteerTable
  readonly guard: Guard
  readonly become: BecomeRun
  readonly live: LiveRuns
  readonly deliver: (run: RunRecord) => void
  readonly clock: Clock
  readonly newId: NewId
}

export function createSteerRun(deps: SteerRunDeps): SteerRun {
  const { database, table, steers, guard, live } = deps
  return (caller, input) => {
    const { agentId } = input
    guard(caller, { do: 'steer-agent', to: agentId, gave: hasGiven(table, caller, agentId) })
    deps.requireAgent(agentId)
    return database.transaction(() => {
      if (caller.kind === 'agent') {
        if (!caller.run)
          throw new Problem('stale-fence', {
            detail: 'only a run that is in progress may send steering messages',
          })
        live.ticketOf(caller.run.runId, caller.run.fence)
      }
      const mark = markOf(caller, originOf(caller, input), input.idempotencyKey)
      const known = mark && steers.findByKey(mark)
      if (known) return sameSteer(known, input)
      if (mark && table.findByKey(mark)) throw keyUsed()
      const run = table.runningOf(agentId)
      const fresh = newSteer(deps, { caller, input, mark })
      if (!run || !canBeSteered(run, input.session)) return enterAtOnce(deps, fresh)
      return attach(deps, fresh, { run, actor: actorOf(caller) })
    })
  }
}

/** Returns whether a run of the caller is an ancestor of the agent's current run. */
function hasGiven(table: RunTable, caller: Caller, agentId: string): boolean {
  if (caller.kind !== 'agent') return false
  const run = table.runningOf(agentId)
  if (!run) return false
  const [, ...above] = table.chainOf(run.id)
  return above.some((asking) => asking.agentId === caller.agentId)
}

/** Returns whether the run accepts steers of this session. A single tool call accepts none. */
function canBeSteered(run: RunRecord, session: string | null | undefined): boolean {
  if (run.input.kind === 'tool') return false
  return session === undefined || session === null || session === sessionOf(run)
}

function attach(
  deps: SteerRunDeps,
  fresh: SteerRecord,
  { run, actor }: { readonly run: RunRecord; readonly actor: string },
): SteerRecord {
  const { steers, database } = deps
  if (steers.countOf(run.id) >= steerLimits.perRunMax) {
    throw new Problem('unprocessable', {
      detail: `run ${run.id} has received ${steerLimits.perRunMax} steering messages, the maximum; send the message again when the run has ended`,
    })
  }
  // A place in the agent's lane is required, because the steer may become a run.
  requireRoom(deps, placeOf(deps, fresh))
  const steer: SteerRecord = { ...fresh, runId: run.id, session: sessionOf(run) }
  steers.insert(steer)
  recordSteer(deps, steer, { action: 'steer.accepted', actor })
  database.afterCommit(() => deps.deliver(run))
  return steer
}

/** Returns the place in the agent's lane that the steer needs if it becomes a run. */
function placeOf(
  { table }: Pick<SteerRunDeps, 'table'>,
  { agentId, origin, parentRunId }: SteerRecord,
): { readonly agentId: string; readonly proactive: boolean } {
  const parent = parentRunId === null ? null : table.find(parentRunId)
  return { agentId, proactive: comesOfTrigger(origin, parent) }
}

function enterAtOnce(deps: SteerRunDeps, fresh: SteerRecord): SteerRecord {
  requireTakesWork(deps.workEvents, fresh.agentId)
  if (fresh.parentRunId !== null) {
    throw new Problem('conflict', {
      detail: `agent ${fresh.agentId} is not working on that; give it a task with hand_off`,
    })
  }
  refuseReserved(fresh.session)
  requireRoom(deps, placeOf(deps, fresh))
  return deps.become(fresh, ({ becameRunId, settledAt }) => {
    deps.steers.insert({ ...fresh, state: 'became-run', becameRunId, settledAt })
    return true
  })
}

function newSteer(
  deps: SteerRunDeps,
  { caller, input, mark }: { caller: Caller; input: SteerRunInput; mark: IdempotencyMark | null },
): SteerRecord {
  const origin = originOf(caller, input)
  return {
    id: deps.newId('steer'),
    agentId: input.agentId,
    runId: null,
    parentRunId: caller.kind === 'agent' ? (caller.run?.runId ?? null) : null,
    origin: Object.freeze(origin),
    session: input.session ?? defaultSession(origin),
    text: input.text,
    mark,
    state: 'waiting',
    takenTurn: null,
    takenStep: null,
    becameRunId: null,
    createdAt: deps.clock.now(),
    settledAt: null,
  }
}

function sameSteer(known: SteerRecord, input: SteerRunInput): SteerRecord {
  if (known.agentId === input.agentId && known.text === input.text) return known
  throw keyUsed()
}
