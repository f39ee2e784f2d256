import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import type { Database } from '@flotilla/foundation/storage'
import { nanoPerUsd } from './money.ts'
import { leftIn, limitsFor, tightestLimit } from './budget-limits.ts'
import type { BudgetAccount, BudgetOf } from './budget-limits.ts'
import type { SpendRow, SpendTable } from './spend-table.ts'

/**
 * Money reserved for the calls of one run, or of one agent outside of any run, on one day.
 *
 * 1. The open row in the table says what is reserved (`grantedNano`); memory never says more than the row.
 * 2. Calls take money from the hold in memory and stay within it, so that a crash pays for them in full.
 * 3. Only for a busy run more is reserved than its calls take: at most `aheadMaxNano` and at most `aheadShare` of
 *    what is left of the tightest budget. It is returned within two seconds of the last such call, or at once when
 *    another of the agent's runs needs it.
 */
export interface Hold {
  /** The row as it was when the hold was opened. */
  readonly row: SpendRow
  /** The current reserved amount of the row. */
  grantedNano: number
  /** Reservations of open calls, and the cost of finished calls that are not written yet. */
  takenNano: number
}

interface OwnHold extends Hold {
  readonly key: string
  readonly account: BudgetAccount
  /** Calls since `countedSince`. */
  calls: number
  countedSince: number
  isBusy: boolean
  given: number
}

/** The maximum reserved in advance: about what a busy run spends between two checks. */
export const aheadMaxNano = nanoPerUsd / 4
export const aheadShare = 1 / 20
/** With fewer calls than this in `countedMs`, each waits for a commit of its own, which is not noticeable. */
const busyCalls = 8
const countedMs = 1000

export type Holds = ReturnType<typeof createHolds>

/** Returns the unused money of a hold; below 0 if calls cost more than was reserved for them. Pure. */
export function freeIn(hold: Hold): number {
  return hold.grantedNano - hold.takenNano
}

/**
 * All methods except `find`, `take` and `haveUnused` run inside a transaction; a rollback also reverts the memory.
 */
export function createHolds(deps: {
  readonly database: Database
  readonly spend: SpendTable
  readonly clock: Clock
  readonly newId: NewId
  readonly budgetOf: BudgetOf
  readonly treeOf: (runId: string) => readonly string[]
  readonly life: string
}) {
  const { database, spend, clock } = deps
  const holds = new Map<string, OwnHold>()

  function change(hold: Hold, grantedNano: number, takenNano: number): void {
    hold.grantedNano += grantedNano
    hold.takenNano += takenNano
    database.afterRollback(() => {
      hold.grantedNano -= grantedNano
      hold.takenNano -= takenNano
    })
  }

  /** False if the row is no longer open: then the hold is empty, and `find` no longer returns it. */
  function resize(hold: Hold, byNano: number): boolean {
    const own = ownOf(hold)
    if (spend.resize(own.row, byNano)) change(own, byNano, 0)
    else drop(own)
    return isLive(own)
  }

  function drop(hold: OwnHold): void {
    holds.delete(hold.key)
    database.afterRollback(() => holds.set(hold.key, hold))
  }

  function isLive(hold: Hold): boolean {
    return holds.get(keyOf(hold.row)) === hold
  }

  /** Sets the reserved amount of a hold to the taken amount, and deletes the hold if both are 0. */
  function fit(hold: OwnHold): void {
    const free = freeIn(hold)
    if (free !== 0 && !resize(hold, -free)) return
    if (hold.takenNano !== 0 || hold.grantedNano !== 0) return
    spend.forget(hold.row.id)
    drop(hold)
  }

  function topUp(hold: OwnHold): void {
    const free = freeIn(hold)
    if (free >= aheadMaxNano / 2) return
    const leftNano = leftIn(tightestLimit(limitsFor(deps, hold.account, hold.row.day))) + free
    const ahead = Math.max(0, Math.min(aheadMaxNano, Math.floor(leftNano * aheadShare)))
    if (ahead > free) resize(hold, ahead - free)
  }

  function count(hold: OwnHold): void {
    if (hold.calls >= busyCalls) hold.isBusy = true
    if (clock.now() - hold.countedSince < countedMs) return
    hold.isBusy = hold.calls >= busyCalls
    hold.calls = 0
    hold.countedSince = clock.now()
  }

  function ownOf(hold: Hold): OwnHold {
    const own = holds.get(keyOf(hold.row))
    if (own !== hold || own === undefined) throw new Error('a hold is used after its end')
    return own
  }

  return {
    find: (account: BudgetAccount, day: string): Hold | null =>
      holds.get(keyOf({ ...account, runId: account.run?.runId ?? null, day })) ?? null,
    open(
      request: {
        readonly wish: BudgetAccount & { readonly model: string }
        readonly day: string
        readonly at: number
      },
      grantedNano: number,
    ): Hold {
      const { wish, day, at } = request
      const { agentId, project, run, model } = wish
      const runId = run?.runId ?? null
      const taskId = run?.taskId ?? null
      const id = deps.newId('call')
      const row: SpendRow = { id, agentId, runId, taskId, project, model, day, reservedNano: grantedNano }
      const key = keyOf(row)
      spend.open(row, { at, life: deps.life })
      const hold: OwnHold = {
        grantedNano,
        takenNano: 0,
        key,
        row,
        account: { agentId, project, run },
        calls: 0,
        countedSince: at,
        isBusy: false,
        given: 0,
      }
      holds.set(key, hold)
      database.afterRollback(() => holds.delete(key))
      return hold
    },
    resize,
    /** Takes money for a call, and returns the id of the call. */
    take(hold: Hold, nano: number): string {
      const own = ownOf(hold)
      own.calls++
      own.given++
      change(own, 0, nano)
      return `${own.row.id}.${own.given}`
    },
    /** Called before the cost of calls is written as spent; returns how much of it was reserved. */
    release(hold: Hold, costNano: number): number {
      if (!isLive(hold)) return 0
      const releasedNano = Math.min(costNano, hold.grantedNano)
      change(hold, -releasedNano, -costNano)
      return releasedNano
    },
    /** Returns the unused money of the agent's other holds; of all agents' holds if `agentId` is null. */
    giveBackOthers(agentId: string | null, own: Hold | null): void {
      for (const hold of holds.values()) {
        if ((agentId === null || hold.row.agentId === agentId) && hold !== own) fit(hold)
      }
    },
    giveBack: () => [...holds.values()].forEach(fit),
    /** Reserves more for busy holds, and returns the unused money of the others. */
    rebalance(): void {
      for (const hold of holds.values()) {
        count(hold)
        if (hold.isBusy) topUp(hold)
        else fit(hold)
      }
    },
    haveUnused(): boolean {
      for (const hold of holds.values()) if (freeIn(hold) !== 0) return true
      return false
    },
  }
}

/** Returns a key with the project, so that an agent's next call after a change is charged to the new project. */
function keyOf({
  agentId,
  project,
  runId,
  day,
}: Pick<SpendRow, 'agentId' | 'project' | 'runId' | 'day'>): string {
  return `${agentId} ${project ?? ''} ${runId ?? ''} ${day}`
}
