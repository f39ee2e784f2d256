import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import { Problem } from '@flotilla/protocol/problem'
import { silentLog } from '../platform/log.ts'
import type { Log } from '../platform/log.ts'
import type { Journal } from '../journal/journal.ts'
import type { Database } from '../storage/database.ts'
import type { BudgetWarnings } from './budget-warnings.ts'
import { createCredits, freeIn } from './credits.ts'
import type { Credit, Credits } from './credits.ts'
import { createGroupedCommit } from '../storage/grouped-commit.ts'
import { exhausted, isShared, leftIn, potsOf, tightestPot } from './pots.ts'
import type { BudgetOf, Purse } from './pots.ts'
import { createUtcDay, utcDay as utcDayOf } from './spend-table.ts'
import type { SpendClosing, SpendRow, SpendTable } from './spend-table.ts'
import { createRunTokens } from './run-tokens.ts'
import { settleLedger } from './settle-ledger.ts'
import type { SettledLedger } from './settle-ledger.ts'
import { createTaskCalls } from './task-calls.ts'
import type { TaskCalls } from './task-calls.ts'
import { writeEnded } from './write-ended.ts'
import type { Ended } from './write-ended.ts'

/**
 * Money is set aside before a call leaves and accounted for after it.
 *
 * 1. What calls may cost is set aside durably before they leave, by a decision that is one transaction with the sums
 *    it rests on: parallel calls cannot both take the last cent. A run that calls often has a little more set aside
 *    than its open calls need (a credit), and its calls take from that without waiting for the disk.
 * 2. A reservation ends once, settled or refunded; whoever comes second changes nothing.
 * 3. What a crash left open, credit included, is settled in full at the next start, on the day it was set aside, before
 *    there is a gate that could set anything aside: making one settles the ledger. A hold bears the life of the mesh
 *    that made it, and no other life ends it but by this.
 * 4. Days and months are UTC, and a call is paid on the day it began.
 * 5. A call fits into every pot at once: its agent's, its project's, the fleet's, its task's, its run's and those of the
 *    runs that it works for.
 */
export interface SpendGate {
  /** Throws the Problem `budget-exhausted` with numbers when not even one token of output is left. */
  reserve(wish: ReserveWish): Promise<Reservation>
  /** Tells what the call cost; safe to call again. `andAlso` stands or falls with it. Written within `writeEveryMs`. */
  settle(reservation: Reservation, closing: SpendClosing, andAlso?: () => void): void
  /** For a call that the provider never served. */
  refund(reservation: Reservation): void
  /** What was found when this gate was made: invariant 3. */
  readonly found: SettledLedger
  /** After a budget was changed: nothing set aside before is used under it, so that it holds from the next call on. */
  rebalance(): void
  /** Writes what is over and waits, for whoever reads the sums now. */
  settleWaiting(): void
  /** Writes what waits now and gives all unused credit back; for the end, before the database closes. */
  flush(): void
}

export interface ReserveWish {
  readonly agentId: string
  readonly run: Purse['run']
  readonly model: string
  readonly promptTokens: number
  readonly promptNano: number
  /** Dearest price of one token of output. */
  readonly outputNanoPerToken: number
  /** Answers asked for at once. */
  readonly answers: number
  readonly maxTokens: number
}

export interface Reservation {
  readonly id: string
  readonly reservedNano: number
  /** What was wished for, or what is left of the budget if that is less. At least 1. */
  readonly maxTokens: number
  /** What stands in the table at the end. */
  readonly row: SpendRow
  readonly openedAt: number
  /** What it was taken from; null where nothing had to be set aside. */
  readonly credit: Credit | null
}

export interface SpendGateDeps {
  readonly database: Database
  readonly spend: SpendTable
  readonly clock: Clock
  readonly newId: NewId
  /** Of this start of the mesh alone. */
  readonly life: string
  readonly budgetOf: BudgetOf
  /** A run and all that work for it, near or far: they use its caps together. */
  readonly treeOf: (runId: string) => readonly string[]
  /** Called inside the settling transaction for calls that belong to a run; many calls may come as one sum. */
  readonly addRunCost: (runId: string, cost: { readonly costUsd: number; readonly tokens: number }) => void
  readonly warnings?: BudgetWarnings
  readonly journal?: Journal
  readonly log?: Log
  /** Ends what waits between calls; `flush` comes after it. */
  readonly stopped?: AbortSignal
}

/** A commit costs a fifth of a millisecond and holds everybody up, so what is over is written in rounds. */
const writeEveryMs = 50
/** So many do not wait for the round. */
const endedMax = 1000

export function createSpendGate(deps: SpendGateDeps): SpendGate {
  const { database, clock } = deps
  const log = deps.log ?? silentLog
  const found = settleLedger({ ...deps, log })
  const grouped = createGroupedCommit(database)
  const credits = createCredits(deps)
  const taskCalls = createTaskCalls(deps)
  const utcDay = createUtcDay()
  const parts: GateParts = { ...deps, credits, taskCalls }
  const runTokens = createRunTokens(deps)
  /** With the tokens of output that each set aside of its run's cap. */
  const open = new Map<Reservation, { readonly setAside: number; readonly run: Purse['run'] }>()
  let ended: Ended[] = []
  let isWriting = false

  async function keepWriting(): Promise<void> {
    isWriting = true
    try {
      while (ended.length > 0 || credits.haveUnused()) {
        await clock.sleep(writeEveryMs, deps.stopped)
        write(() => credits.tend())
        grouped.flush()
      }
    } catch (error) {
      // `stopped` has ended the sleep, and `flush` writes the rest.
      if (deps.stopped?.aborted !== true) log.error({ err: error }, 'settlements were not written in time')
    } finally {
      isWriting = false
    }
  }

  /** What fails here stays set aside in the table, so that invariant 3 pays for it. */
  function write(andThen: () => void): void {
    const batch = ended
    ended = []
    const failed = (error: unknown) => log.error({ err: error }, 'a model call was not accounted for')
    grouped
      .add(() => writeEnded(parts, batch))
      .catch((error: unknown) => {
        if (batch.length === 1) failed(error)
        else for (const one of batch) grouped.add(() => writeEnded(parts, [one])).catch(failed)
      })
    grouped.add(andThen).catch((error: unknown) => log.error({ err: error }, 'credits were not tended'))
  }

  function end(one: Ended): void {
    ended.push(one)
    if (ended.length >= endedMax) write(() => {})
    if (!isWriting) void keepWriting()
  }

  function remember(
    reservation: Reservation,
    tokens: { readonly setAside: number; readonly run: Purse['run'] },
  ): Reservation {
    open.set(reservation, tokens)
    return reservation
  }

  /** Invariant 2: false for whoever comes second. */
  function closes(reservation: Reservation, closing: SpendClosing | null): boolean {
    const tokens = open.get(reservation)
    if (tokens === undefined) return false
    open.delete(reservation)
    const used = closing ? closing.promptTokens + closing.completionTokens : 0
    runTokens.ended(tokens.run, { setAside: tokens.setAside, used })
    return true
  }

  return {
    found,
    async reserve(asked) {
      const at = clock.now()
      const day = utcDay(at)
      const project = deps.budgetOf(asked.agentId).project?.name ?? null
      const taskId = asked.run?.taskId ?? null
      taskCalls.refuseOverCap(asked)
      const maxAllowed = runTokens.take(asked.run, asked)
      const wish = { ...asked, maxTokens: maxAllowed, project }
      const tokens = { setAside: maxAllowed * asked.answers, run: asked.run }
      taskCalls.began(taskId)
      if (isFree(wish)) return remember(freeReservation(deps, wish, { at, day }), tokens)
      const credit = credits.find(wish, day)
      const wished = costAtMost(wish, wish.maxTokens)
      if (credit && freeIn(credit) >= wished) {
        return remember(reservationFrom(credits, credit, { wish, maxTokens: wish.maxTokens, at }), tokens)
      }
      const outcome = await grouped
        .add(() => reserveNow(parts, wish))
        .catch((error: unknown) => ({ failed: error }))
      if (outcome instanceof Problem || 'failed' in outcome) {
        taskCalls.refused(taskId)
        runTokens.ended(asked.run, { setAside: tokens.setAside, used: 0 })
        throw outcome instanceof Problem ? outcome : outcome.failed
      }
      return remember(outcome, tokens)
    },
    settle(reservation, closing, andAlso = () => {}) {
      if (!closes(reservation, closing)) return
      if (reservation.credit) reservation.credit.takenNano += closing.costNano - reservation.reservedNano
      end({ reservation, closing, andAlso })
    },
    refund(reservation) {
      if (!closes(reservation, null)) return
      if (!reservation.credit) {
        taskCalls.refused(reservation.row.taskId)
        return
      }
      reservation.credit.takenNano -= reservation.reservedNano
      end({ reservation, closing: null, andAlso: () => {} })
    },
    settleWaiting() {
      if (ended.length > 0) write(() => {})
      grouped.flush()
    },
    rebalance() {
      write(() => credits.giveBack())
      grouped.flush()
    },
    flush() {
      write(() => credits.giveBack())
      grouped.flush()
    },
  }
}

export interface GateParts extends SpendGateDeps {
  readonly credits: Credits
  readonly taskCalls: TaskCalls
}

/** With the project that its agent belongs to now. */
type OwnWish = ReserveWish & { readonly project: string | null }

/** A refusal is a value here, so that it does not undo what shares the commit. */
function reserveNow(deps: GateParts, wish: OwnWish): Reservation | Problem {
  const { credits } = deps
  const at = deps.clock.now()
  const day = utcDayOf(at)
  const own = credits.find(wish, day)
  credits.giveBackOthers(wish.agentId, own)
  const unusedNano = own ? freeIn(own) : 0
  let pot = tightestPot(potsOf(deps, wish, day))
  if (isShared(pot) && affordableTokens(wish, leftIn(pot) + unusedNano) < wish.maxTokens) {
    // What other agents keep ahead is not used; whoever needs it now comes first.
    credits.giveBackOthers(null, own)
    pot = tightestPot(potsOf(deps, wish, day))
  }
  const leftNano = leftIn(pot) + unusedNano
  const maxTokens = affordableTokens(wish, leftNano)
  if (maxTokens < 1) {
    deps.warnings?.refused(pot)
    return exhausted(pot, leftNano, costAtMost(wish, 1))
  }
  const needed = costAtMost(wish, maxTokens) - unusedNano
  const credit = own ?? credits.open({ wish, day, at }, needed)
  // Its row is gone, and with it what it seemed to have left: the pots are asked again, without it.
  if (own && needed > 0 && !credits.resize(own, needed)) return reserveNow(deps, wish)
  return reservationFrom(credits, credit, { wish, maxTokens, at })
}

function reservationFrom(
  credits: Credits,
  credit: Credit,
  asked: { readonly wish: OwnWish; readonly maxTokens: number; readonly at: number },
): Reservation {
  const { wish, maxTokens, at } = asked
  const reservedNano = costAtMost(wish, maxTokens)
  const id = credits.take(credit, reservedNano)
  const { agentId, runId, project, day } = credit
  const taskId = wish.run?.taskId ?? null
  const row: SpendRow = { id, agentId, runId, taskId, project, model: wish.model, day, reservedNano }
  return { id, reservedNano, maxTokens, row, openedAt: at, credit }
}

function freeReservation(
  deps: SpendGateDeps,
  wish: OwnWish,
  { at, day }: { readonly at: number; readonly day: string },
): Reservation {
  const row: SpendRow = {
    id: deps.newId('call'),
    agentId: wish.agentId,
    runId: wish.run?.runId ?? null,
    taskId: wish.run?.taskId ?? null,
    project: wish.project,
    model: wish.model,
    day,
    reservedNano: 0,
  }
  return { id: row.id, reservedNano: 0, maxTokens: wish.maxTokens, row, openedAt: at, credit: null }
}

/** What costs nothing is never refused, also by a budget that is overdrawn, and needs no row before its end. */
function isFree(wish: ReserveWish): boolean {
  return wish.promptNano === 0 && wish.outputNanoPerToken === 0
}

function costAtMost(wish: ReserveWish, maxTokens: number): number {
  return Math.ceil(wish.promptNano + maxTokens * wish.answers * wish.outputNanoPerToken)
}

/** Less than 1 when not even one token of output is left. */
function affordableTokens(wish: ReserveWish, leftNano: number): number {
  const perToken = wish.outputNanoPerToken * wish.answers
  const leftForOutput = leftNano - wish.promptNano
  if (perToken === 0) return leftForOutput >= 0 ? wish.maxTokens : 0
  return Math.min(wish.maxTokens, Math.floor(leftForOutput / perToken))
}
