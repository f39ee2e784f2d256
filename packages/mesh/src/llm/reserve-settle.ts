import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import { Problem } from '@flotilla/protocol/problem'
import type { Database } from '../storage/database.ts'
import { nanoFromUsd, usdFromNano } from './money.ts'
import { agentScope, monthOf, runScope, utcDay } from './spend-table.ts'
import type { SpendClosing, SpendRow, SpendTable } from './spend-table.ts'

/**
 * Money is set aside before a call leaves and accounted for after it.
 *
 * 1. Reservation and the sums it is decided by are one transaction: parallel calls cannot both take the last cent.
 * 2. A reservation ends once, settled or refunded; whoever comes second changes nothing.
 * 3. What a crash left open is settled in full at the next start, on the day it was made.
 * 4. Days and months are UTC, and a call is paid on the day it began.
 */
export interface SpendGate {
  /** Throws the Problem `budget-exhausted` with numbers when not even one token of output is left. */
  reserve(wish: ReserveWish): Reservation
  /** Tells what the call cost; safe to call again. */
  settle(reservation: Reservation, closing: SpendClosing): void
  /** For a call that the provider never served. */
  refund(reservation: Reservation): void
  /** At start, before any call: invariant 3. Returns how many there were. */
  settleLeftOpen(): number
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
  readonly isStored: boolean
}

export interface SpendGateDeps {
  readonly database: Database
  readonly spend: SpendTable
  readonly clock: Clock
  readonly newId: NewId
  readonly budgetOf: (agentId: string) => { readonly daily_usd: number; readonly monthly_usd: number }
  /** Called inside the settling transaction for calls that belong to a run. */
  readonly addRunCost: (runId: string, cost: { readonly costUsd: number; readonly tokens: number }) => void
}

interface Pot {
  readonly name: 'daily' | 'monthly' | 'run'
  readonly limitNano: number
  readonly spentNano: number
  readonly openNano: number
}

export function createSpendGate(deps: SpendGateDeps): SpendGate {
  const { database, spend, clock, newId } = deps

  function settleRow(id: string, closing: SpendClosing): void {
    database.transaction(() => {
      const row = spend.settle(id, closing, clock.now())
      if (row === null || row.runId === null) return
      const tokens = closing.promptTokens + closing.completionTokens
      deps.addRunCost(row.runId, { costUsd: usdFromNano(closing.costNano), tokens })
    })
  }

  return {
    reserve(wish) {
      return database.transaction(() => {
        const day = utcDay(clock.now())
        const maxTokens = affordableTokens(wish, tightestPot(potsOf(deps, wish, day)))
        const reservedNano = Math.ceil(wish.promptNano + maxTokens * wish.answers * wish.outputNanoPerToken)
        const id = newId('call')
        const runId = wish.run?.runId ?? null
        const row = { id, agentId: wish.agentId, runId, model: wish.model, day, reservedNano }
        const isStored = reservedNano > 0
        if (isStored) spend.open(row, clock.now())
        return { id, reservedNano, maxTokens, row, isStored }
      })
    },
    settle(reservation, closing) {
      database.transaction(() => {
        if (!reservation.isStored && !spend.isKnown(reservation.id)) spend.open(reservation.row, clock.now())
        settleRow(reservation.id, closing)
      })
    },
    refund(reservation) {
      if (reservation.isStored) database.transaction(() => spend.refund(reservation.id, clock.now()))
    },
    settleLeftOpen() {
      const rows = spend.openRows()
      for (const row of rows) {
        settleRow(row.id, { costNano: row.reservedNano, promptTokens: 0, completionTokens: 0 })
      }
      return rows.length
    },
  }
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

function affordableTokens(wish: ReserveWish, pot: Pot): number {
  const perToken = wish.outputNanoPerToken * wish.answers
  // What costs nothing is never refused, also by a budget that is overdrawn.
  if (wish.promptNano === 0 && perToken === 0) return wish.maxTokens
  const leftForOutput = leftIn(pot) - wish.promptNano
  const affordable =
    perToken === 0 ? (leftForOutput >= 0 ? wish.maxTokens : 0) : Math.floor(leftForOutput / perToken)
  if (affordable >= 1) return Math.min(wish.maxTokens, affordable)
  throw new Problem('budget-exhausted', {
    detail: `the ${pot.name} budget has ${dollars(leftIn(pot))} USD left and this call may need ${dollars(wish.promptNano + perToken)} or more`,
    extra: {
      budget: pot.name,
      limit_usd: usdFromNano(pot.limitNano),
      spent_usd: usdFromNano(pot.spentNano),
      reserved_usd: usdFromNano(pot.openNano),
      left_usd: usdFromNano(Math.max(0, leftIn(pot))),
      needed_usd: usdFromNano(wish.promptNano + perToken),
    },
  })
}

function dollars(nano: number): string {
  return usdFromNano(Math.max(0, nano)).toFixed(6)
}
