import type { RunCost } from '@flotilla/work/runs'
import type { Kernel } from '@flotilla/identity/kernel'
import { reportedModel } from '@flotilla/protocol/harness-api'
import { Problem } from '@flotilla/protocol/problem'
import type { Journal } from '@flotilla/foundation/journal'
import { silentLog } from '@flotilla/foundation/platform'
import type { Log } from '@flotilla/foundation/platform'
import { createGroupedCommit } from '@flotilla/foundation/storage'
import type { BudgetAccount, BudgetOf } from './budget-limits.ts'
import type { BudgetWarnings } from './budget-warnings.ts'
import { createHolds, freeIn } from './holds.ts'
import { costAtMost, isFree } from './reservation.ts'
import type { Reservation, ReserveWish } from './reservation.ts'
import { createOpenUsage, tokensAtMost } from './open-usage.ts'
import { createRunTokens } from './run-tokens.ts'
import { settleLedger } from './settle-ledger.ts'
import type { SettledLedger } from './settle-ledger.ts'
import { createSettledWriter } from './settled-writer.ts'
import { createUtcDay } from './sum-scopes.ts'
import type { SpendClosing, SpendTable } from './spend-table.ts'
import { freeReservation, reservationFrom, takeReservation } from './take-reservation.ts'
import { createTaskCalls } from './task-calls.ts'
import { writeSettled } from './write-settled.ts'

/**
 * Money is reserved before a call is sent and settled after it.
 *
 * 1. The maximum cost of a call is reserved durably before the call is sent, in one transaction with the sums that
 *    decide it: parallel calls cannot both take the last cent. For a busy run a little more is reserved than its open
 *    calls need (a hold), and its calls take from that without waiting for the disk.
 * 2. A reservation ends once, settled or refunded; a second attempt to end it changes nothing.
 * 3. What a crash left open, unused parts of holds included, is settled in full at the next start, on the day it was
 *    reserved, before anything else can be reserved: creating reservations settles the ledger. A hold belongs to the
 *    process of the mesh that made it, and another process ends it only in this way.
 * 4. Days and months are UTC, and a call is paid on the day it began.
 * 5. A call fits into every limit at once: its agent's, its project's, the fleet's, its task's, its run's and those
 *    of the runs that it works for.
 */
export interface Reservations {
  /** Reserves the cost of a call. Throws Problem `budget-exhausted` with numbers if no token of output fits. */
  reserve(wish: ReserveWish): Promise<Reservation>
  /**
   * Reports the cost of the call; safe to repeat. `andAlso` runs in the transaction that writes it, within
   * 50 ms.
   */
  settle(reservation: Reservation, closing: SpendClosing, andAlso?: () => void): void
  /** Ends the reservation of a call that the provider never served. */
  refund(reservation: Reservation): void
  /**
   * Adds tokens that a harness reported to the sums of the run's agent, without a price and without a limit that could
   * refuse them: the calls were made. Joins the caller's transaction.
   */
  addReported(
    account: Pick<ReserveWish, 'agentId' | 'run'>,
    tokens: Pick<SpendClosing, 'promptTokens' | 'completionTokens'>,
  ): void
  /** Returns the most that the open calls of a run may use; null without one. */
  openUsageOf(runId: string): { readonly tokens: number; readonly usd: number } | null
  /** What the settlement of the ledger found at creation: invariant 3. */
  readonly found: SettledLedger
  /** Called after a budget change: returns unused reserved money, so that the change holds from the next call on. */
  rebalance(): void
  /** Writes finished calls that wait, so that a reader of the sums sees them. */
  settleWaiting(): void
  /** Writes finished calls and returns all unused money of holds; called at the end, before the database closes. */
  flush(): void
}

interface ReservationsDeps extends Pick<Kernel, 'database' | 'clock' | 'newId'> {
  readonly spend: SpendTable
  /** Identifies this start of the mesh. */
  readonly life: string
  readonly budgetOf: BudgetOf
  /** The limit of model calls set by the giver of a task; null without one. */
  readonly turnsOf?: (taskId: string) => number | null
  /** Model calls of the earlier tasks that a task continues. */
  readonly callsBefore?: (taskId: string) => number
  /** Returns a run and all its descendants: they share its caps. */
  readonly treeOf: (runId: string) => readonly string[]
  /** Called inside the settling transaction for calls that belong to a run; many calls may come as one sum. */
  readonly addRunCost: (runId: string, cost: RunCost) => void
  readonly warnings?: BudgetWarnings
  readonly journal?: Journal
  readonly log?: Log
  /** An abort ends the wait between two rounds of writes; `flush` is called after the abort. */
  readonly stopped?: AbortSignal
}

/** The output tokens that a call reserved from its run's cap, and the most tokens that it may use. */
type OfRun = { readonly setAside: number; readonly atMost: number; readonly run: BudgetAccount['run'] }

export function createReservations(deps: ReservationsDeps): Reservations {
  const { database, clock } = deps
  const log = deps.log ?? silentLog
  const found = settleLedger({ ...deps, log })
  const grouped = createGroupedCommit(database)
  const holds = createHolds(deps)
  const taskCalls = createTaskCalls(deps)
  const utcDay = createUtcDay()
  const parts = { ...deps, holds, taskCalls }
  const runTokens = createRunTokens(deps)
  const openUsage = createOpenUsage()
  /** Weak, because a map would keep ended reservations in memory for a long time: see `createRoster`. */
  const open = new WeakMap<Reservation, OfRun>()
  const writer = createSettledWriter({
    ...deps,
    log,
    grouped,
    holds,
    writeBatch: (batch) => writeSettled(parts, batch),
  })

  function remember(reservation: Reservation, tokens: OfRun): Reservation {
    open.set(reservation, tokens)
    openUsage.began(reservation, tokens.atMost)
    return reservation
  }

  /** Returns false if the reservation has ended already (invariant 2). */
  function closes(reservation: Reservation, closing: SpendClosing | null): boolean {
    const tokens = open.get(reservation)
    if (tokens === undefined) return false
    open.delete(reservation)
    openUsage.ended(reservation, tokens.atMost)
    const used = closing ? closing.promptTokens + closing.completionTokens : 0
    runTokens.ended(tokens.run, { setAside: tokens.setAside, used })
    return true
  }

  const projectOf = (agentId: string): string | null => deps.budgetOf(agentId).project?.name ?? null

  return {
    found,
    openUsageOf: openUsage.of,
    addReported({ agentId, run }, tokens) {
      const at = clock.now()
      const wish = { agentId, run, project: projectOf(agentId), model: reportedModel, maxTokens: 0 }
      const reservation = freeReservation(deps, wish, { at, day: utcDay(at) })
      // Nothing was reserved, so no open call ends with this one.
      const unopened = { ...parts, taskCalls: { written: () => {} } }
      writeSettled(unopened, [{ reservation, closing: { costNano: 0, ...tokens }, andAlso: () => {} }])
      database.afterCommit(() => runTokens.reported(run, tokens.promptTokens + tokens.completionTokens))
    },
    async reserve(request) {
      const at = clock.now()
      const day = utcDay(at)
      const project = projectOf(request.agentId)
      const taskId = request.run?.taskId ?? null
      taskCalls.refuseOverCap(request)
      const maxAllowed = runTokens.take(request.run, request)
      const wish = { ...request, maxTokens: maxAllowed, project }
      const tokens = {
        setAside: maxAllowed * request.answers,
        atMost: tokensAtMost(request, maxAllowed),
        run: request.run,
      }
      taskCalls.began(taskId)
      if (isFree(wish)) return remember(freeReservation(deps, wish, { at, day }), tokens)
      const hold = holds.find(wish, day)
      const costNano = costAtMost(wish, wish.maxTokens)
      if (hold && freeIn(hold) >= costNano) {
        return remember(reservationFrom(holds, hold, { wish, maxTokens: wish.maxTokens, at }), tokens)
      }
      const outcome = await grouped
        .add(() => takeReservation(parts, wish))
        .catch((error: unknown) => ({ failed: error }))
      if (outcome instanceof Problem || 'failed' in outcome) {
        taskCalls.refused(taskId)
        runTokens.ended(request.run, { setAside: tokens.setAside, used: 0 })
        throw outcome instanceof Problem ? outcome : outcome.failed
      }
      return remember(outcome, tokens)
    },
    settle(reservation, closing, andAlso = () => {}) {
      if (!closes(reservation, closing)) return
      if (reservation.hold) reservation.hold.takenNano += closing.costNano - reservation.reservedNano
      writer.add({ reservation, closing, andAlso })
    },
    refund(reservation) {
      if (!closes(reservation, null)) return
      if (!reservation.hold) return taskCalls.refused(reservation.row.taskId)
      reservation.hold.takenNano -= reservation.reservedNano
      writer.add({ reservation, closing: null, andAlso: () => {} })
    },
    settleWaiting: writer.writeNow,
    rebalance: writer.giveBack,
    flush: writer.giveBack,
  }
}
