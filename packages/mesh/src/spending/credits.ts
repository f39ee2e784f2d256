import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import type { Database } from '../storage/database.ts'
import { nanoPerUsd } from './money.ts'
import { leftIn, potsOf, tightestPot } from './pots.ts'
import type { BudgetOf, Purse } from './pots.ts'
import type { SpendRow, SpendTable } from './spend-table.ts'

/**
 * Money set aside for the calls of one run, or of one agent outside of any run, on one day.
 *
 * 1. The open row in the table says what is set aside (`grantedNano`), and memory never says more than the row.
 * 2. Calls take from it in memory; what they take stays within it, so that a crash pays for them in full.
 * 3. Only who calls often has more set aside than is taken: at most `aheadMaxNano` and at most `aheadShare` of what
 *    is left of the tightest budget. It goes back within two seconds of the last such call, or at once when another
 *    of the agent's runs needs it.
 */
export interface Credit {
  readonly id: string
  readonly agentId: string
  readonly runId: string | null
  readonly project: string | null
  readonly day: string
  /** What the row says. */
  grantedNano: number
  /** Reservations of open calls, and the cost of those that are over and not yet written. */
  takenNano: number
}

interface OwnCredit extends Credit {
  readonly key: string
  readonly row: SpendRow
  readonly purse: Purse
  /** Calls since `countedSince`. */
  calls: number
  countedSince: number
  isBusy: boolean
  given: number
}

/** Set aside beyond what is taken: about what a busy run spends between two looks. */
export const aheadMaxNano = nanoPerUsd / 4
export const aheadShare = 1 / 20
/** Fewer calls than this in `countedMs` wait for the disk once each, which nobody notices. */
const busyCalls = 8
const countedMs = 1000

export type Credits = ReturnType<typeof createCredits>

/** Unused money. Pure; below 0 where calls cost more than was set aside for them. */
export function freeIn(credit: Credit): number {
  return credit.grantedNano - credit.takenNano
}

/** All but `find`, `take` and `haveUnused` run inside a transaction, and memory follows when it is rolled back. */
export function createCredits(deps: {
  readonly database: Database
  readonly spend: SpendTable
  readonly clock: Clock
  readonly newId: NewId
  readonly budgetOf: BudgetOf
  readonly treeOf: (runId: string) => readonly string[]
  readonly life: string
}) {
  const { database, spend, clock } = deps
  const credits = new Map<string, OwnCredit>()

  function change(credit: Credit, grantedNano: number, takenNano: number): void {
    credit.grantedNano += grantedNano
    credit.takenNano += takenNano
    database.afterRollback(() => {
      credit.grantedNano -= grantedNano
      credit.takenNano -= takenNano
    })
  }

  /** False where its row is not open any more: then it holds nothing, and is not found again. */
  function resize(credit: Credit, byNano: number): boolean {
    const own = ownOf(credit)
    if (spend.resize(own.row, byNano)) change(own, byNano, 0)
    else drop(own)
    return isLive(own)
  }

  function drop(credit: OwnCredit): void {
    credits.delete(credit.key)
    database.afterRollback(() => credits.set(credit.key, credit))
  }

  function isLive(credit: Credit): boolean {
    return credits.get(keyOf(credit, credit.runId, credit.day)) === credit
  }

  /** Down to what is taken, or up to it; a credit that holds nothing ends. */
  function fit(credit: OwnCredit): void {
    const free = freeIn(credit)
    if (free !== 0 && !resize(credit, -free)) return
    if (credit.takenNano !== 0 || credit.grantedNano !== 0) return
    spend.forget(credit.id)
    drop(credit)
  }

  function topUp(credit: OwnCredit): void {
    const free = freeIn(credit)
    if (free >= aheadMaxNano / 2) return
    const leftNano = leftIn(tightestPot(potsOf(deps, credit.purse, credit.day))) + free
    const ahead = Math.max(0, Math.min(aheadMaxNano, Math.floor(leftNano * aheadShare)))
    if (ahead > free) resize(credit, ahead - free)
  }

  function count(credit: OwnCredit): void {
    if (credit.calls >= busyCalls) credit.isBusy = true
    if (clock.now() - credit.countedSince < countedMs) return
    credit.isBusy = credit.calls >= busyCalls
    credit.calls = 0
    credit.countedSince = clock.now()
  }

  function ownOf(credit: Credit): OwnCredit {
    const own = credits.get(keyOf(credit, credit.runId, credit.day))
    if (own !== credit || own === undefined) throw new Error('a credit is used after its end')
    return own
  }

  return {
    find: (purse: Owner & Pick<Purse, 'run'>, day: string): Credit | null =>
      credits.get(keyOf(purse, purse.run?.runId ?? null, day)) ?? null,
    open(
      asked: { readonly wish: Purse & { readonly model: string }; readonly day: string; readonly at: number },
      grantedNano: number,
    ): Credit {
      const { wish, day, at } = asked
      const { agentId, project, run, model } = wish
      const runId = run?.runId ?? null
      const taskId = run?.taskId ?? null
      const id = deps.newId('call')
      const row: SpendRow = { id, agentId, runId, taskId, project, model, day, reservedNano: grantedNano }
      const key = keyOf(wish, runId, day)
      spend.open(row, { at, life: deps.life })
      const credit: OwnCredit = {
        id,
        agentId,
        runId,
        project,
        day,
        grantedNano,
        takenNano: 0,
        key,
        row,
        purse: { agentId, project, run },
        calls: 0,
        countedSince: at,
        isBusy: false,
        given: 0,
      }
      credits.set(key, credit)
      database.afterRollback(() => credits.delete(key))
      return credit
    },
    resize,
    /** The id of the call that takes it. */
    take(credit: Credit, nano: number): string {
      const own = ownOf(credit)
      own.calls++
      own.given++
      change(own, 0, nano)
      return `${own.id}.${own.given}`
    },
    /** What calls have cost is about to be written as spent; returns how much of it is set aside. */
    release(credit: Credit, costNano: number): number {
      if (!isLive(credit)) return 0
      const releasedNano = Math.min(costNano, credit.grantedNano)
      change(credit, -releasedNano, -costNano)
      return releasedNano
    },
    /** What others of the agent have set aside and do not use; of everybody where `agentId` is null. */
    giveBackOthers(agentId: string | null, own: Credit | null): void {
      for (const credit of credits.values()) {
        if ((agentId === null || credit.agentId === agentId) && credit !== own) fit(credit)
      }
    },
    giveBack: () => [...credits.values()].forEach(fit),
    /** More for the busy, and back from the others. */
    tend(): void {
      for (const credit of credits.values()) {
        count(credit)
        if (credit.isBusy) topUp(credit)
        else fit(credit)
      }
    },
    haveUnused(): boolean {
      for (const credit of credits.values()) if (freeIn(credit) !== 0) return true
      return false
    },
  }
}

type Owner = Pick<Purse, 'agentId' | 'project'>

/** With the project, so that an agent that changes it is charged to the new one from its next call on. */
function keyOf({ agentId, project }: Owner, runId: string | null, day: string): string {
  return `${agentId} ${project ?? ''} ${runId ?? ''} ${day}`
}
