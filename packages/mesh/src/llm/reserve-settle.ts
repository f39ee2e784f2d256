import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import { Problem } from '@flotilla/protocol/problem'
import { silentLog } from '../log.ts'
import type { Log } from '../log.ts'
import type { Database } from '../storage/database.ts'
import { createGroupedCommit } from './grouped-commit.ts'
import { nanoFromUsd, usdFromNano } from './money.ts'
import { agentScope, monthOf, runScope, utcDay } from './spend-table.ts'
import type { SpendClosing, SpendRow, SpendTable } from './spend-table.ts'

/**
 * Money is set aside before a call leaves and accounted for after it.
 *
 * 1. Reservation and the sums it is decided by are one transaction: parallel calls cannot both take the last cent,
 *    and a reservation is durable before its call leaves.
 * 2. A reservation ends once, settled or refunded; whoever comes second changes nothing.
 * 3. What a crash left open is settled in full at the next start, on the day it was made.
 * 4. Days and months are UTC, and a call is paid on the day it began.
 */
export interface SpendGate {
  /** Throws the Problem `budget-exhausted` with numbers when not even one token of output is left. */
  reserve(wish: ReserveWish): Promise<Reservation>
  /** Tells what the call cost; safe to call again. `andAlso` stands or falls with it. Written at the end of this turn. */
  settle(reservation: Reservation, closing: SpendClosing, andAlso?: () => void): void
  /** For a call that the provider never served. */
  refund(reservation: Reservation): void
  /** At start, before any call: invariant 3. Returns how many there were. */
  settleLeftOpen(): number
  /** Writes what waits now; for the end, before the database closes. */
  flush(): void
}

export interface ReserveWish {
  readonly agentId: string
  readonly run: { readonly runId: string; readonly budgetUsd: number | null } | null
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
  /** What stands in the table from now on, or only at the end where nothing had to be set aside. */
  readonly row: SpendRow
}

export interface SpendGateDeps {
  readonly database: Database
  readonly spend: SpendTable
  readonly clock: Clock
  readonly newId: NewId
  readonly budgetOf: (agentId: string) => { readonly daily_usd: number; readonly monthly_usd: number }
  /** Called inside the settling transaction for calls that belong to a run. */
  readonly addRunCost: (runId: string, cost: { readonly costUsd: number; readonly tokens: number }) => void
  readonly log?: Log
}

interface Pot {
  readonly name: 'daily' | 'monthly' | 'run'
  readonly limitNano: number
  readonly spentNano: number
  readonly openNano: number
}

export function createSpendGate(deps: SpendGateDeps): SpendGate {
  const { database, spend, clock } = deps
  const log = deps.log ?? silentLog
  const grouped = createGroupedCommit(database)

  function settleNow(id: string, closing: SpendClosing): void {
    const row = spend.settle(id, closing, clock.now())
    if (row === null || row.runId === null) return
    const tokens = closing.promptTokens + closing.completionTokens
    deps.addRunCost(row.runId, { costUsd: usdFromNano(closing.costNano), tokens })
  }

  /** What fails here stays open in the table, so that invariant 3 pays for it. */
  function later(work: () => void): void {
    grouped
      .add(work)
      .catch((error: unknown) => log.error({ err: error }, 'a model call was not accounted for'))
  }

  return {
    async reserve(wish) {
      if (isFree(wish)) return reservationFor(deps, wish, wish.maxTokens)
      const outcome = await grouped.add(() => reserveNow(deps, wish))
      if (outcome instanceof Problem) throw outcome
      return outcome
    },
    settle(reservation, closing, andAlso = () => {}) {
      later(() => {
        if (reservation.reservedNano === 0 && !spend.isKnown(reservation.id))
          spend.open(reservation.row, clock.now())
        settleNow(reservation.id, closing)
        andAlso()
      })
    },
    refund(reservation) {
      if (reservation.reservedNano > 0) later(() => spend.refund(reservation.id, clock.now()))
    },
    settleLeftOpen() {
      const rows = spend.openRows()
      database.transaction(() => {
        for (const row of rows) {
          settleNow(row.id, { costNano: row.reservedNano, promptTokens: 0, completionTokens: 0 })
        }
      })
      return rows.length
    },
    flush: () => grouped.flush(),
  }
}

/** A refusal is a value here, so that it does not undo what shares the commit. */
function reserveNow(deps: SpendGateDeps, wish: ReserveWish): Reservation | Problem {
  const day = utcDay(deps.clock.now())
  const pot = tightestPot(potsOf(deps, wish, day))
  const maxTokens = affordableTokens(wish, pot)
  if (maxTokens < 1) return exhausted(wish, pot)
  const reservation = reservationFor(deps, wish, maxTokens)
  deps.spend.open(reservation.row, deps.clock.now())
  return reservation
}

function reservationFor(deps: SpendGateDeps, wish: ReserveWish, maxTokens: number): Reservation {
  const row: SpendRow = {
    id: deps.newId('call'),
    agentId: wish.agentId,
    runId: wish.run?.runId ?? null,
    model: wish.model,
    day: utcDay(deps.clock.now()),
    reservedNano: Math.ceil(wish.promptNano + maxTokens * wish.answers * wish.outputNanoPerToken),
  }
  return { id: row.id, reservedNano: row.reservedNano, maxTokens, row }
}

/** What costs nothing is never refused, also by a budget that is overdrawn, and needs no row before its end. */
function isFree(wish: ReserveWish): boolean {
  return wish.promptNano === 0 && wish.outputNanoPerToken === 0
}

function potsOf(deps: SpendGateDeps, wish: ReserveWish, day: string): Pot[] {
  const budget = deps.budgetOf(wish.agentId)
  const pot = (name: Pot['name'], limitUsd: number, where: readonly [string, string]): Pot => ({
    name,
    limitNano: nanoFromUsd(limitUsd),
    ...deps.spend.total(...where),
  })
  const agent = agentScope(wish.agentId)
  const pots = [
    pot('daily', budget.daily_usd, [agent, day]),
    pot('monthly', budget.monthly_usd, [agent, monthOf(day)]),
  ]
  if (wish.run && wish.run.budgetUsd !== null) {
    pots.push(pot('run', wish.run.budgetUsd, [runScope(wish.run.runId), '']))
  }
  return pots
}

function leftIn(pot: Pot): number {
  return pot.limitNano - pot.spentNano - pot.openNano
}

function tightestPot(pots: readonly Pot[]): Pot {
  return pots.reduce((tightest, pot) => (leftIn(pot) < leftIn(tightest) ? pot : tightest))
}

/** Less than 1 when not even one token of output is left. */
function affordableTokens(wish: ReserveWish, pot: Pot): number {
  const perToken = wish.outputNanoPerToken * wish.answers
  const leftForOutput = leftIn(pot) - wish.promptNano
  if (perToken === 0) return leftForOutput >= 0 ? wish.maxTokens : 0
  return Math.min(wish.maxTokens, Math.floor(leftForOutput / perToken))
}

function exhausted(wish: ReserveWish, pot: Pot): Problem {
  const neededNano = wish.promptNano + wish.outputNanoPerToken * wish.answers
  return new Problem('budget-exhausted', {
    detail: `the ${pot.name} budget has ${dollars(leftIn(pot))} USD left and this call may need ${dollars(neededNano)} or more`,
    extra: {
      budget: pot.name,
      limit_usd: usdFromNano(pot.limitNano),
      spent_usd: usdFromNano(pot.spentNano),
      reserved_usd: usdFromNano(pot.openNano),
      left_usd: usdFromNano(Math.max(0, leftIn(pot))),
      needed_usd: usdFromNano(neededNano),
    },
  })
}

function dollars(nano: number): string {
  return usdFromNano(Math.max(0, nano)).toFixed(6)
}
