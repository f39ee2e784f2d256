import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import type { Problem } from '@flotilla/protocol/problem'
import { exhausted, isShared, leftIn, limitsFor, tightestLimit } from './budget-limits.ts'
import type { BudgetOf } from './budget-limits.ts'
import type { BudgetWarnings } from './budget-warnings.ts'
import { freeIn } from './holds.ts'
import type { Hold, Holds } from './holds.ts'
import { affordableTokens, costAtMost } from './reservation.ts'
import type { OwnWish, Reservation } from './reservation.ts'
import { utcDay } from './sum-scopes.ts'
import type { SpendRow, SpendTable } from './spend-table.ts'

interface TakeDeps {
  readonly clock: Clock
  readonly newId: NewId
  readonly spend: SpendTable
  readonly holds: Holds
  readonly budgetOf: BudgetOf
  readonly treeOf: (runId: string) => readonly string[]
  readonly warnings?: BudgetWarnings
}

/** Runs inside a transaction. A refusal is returned and not thrown, so that it does not roll back others' writes. */
export function takeReservation(deps: TakeDeps, wish: OwnWish): Reservation | Problem {
  const { holds } = deps
  const at = deps.clock.now()
  const day = utcDay(at)
  const own = holds.find(wish, day)
  holds.giveBackOthers(wish.agentId, own)
  const unusedNano = own ? freeIn(own) : 0
  let limit = tightestLimit(limitsFor(deps, wish, day))
  if (isShared(limit) && affordableTokens(wish, leftIn(limit) + unusedNano) < wish.maxTokens) {
    // Money that other agents' holds reserved in advance is unused; an agent that needs it now gets it.
    holds.giveBackOthers(null, own)
    limit = tightestLimit(limitsFor(deps, wish, day))
  }
  const leftNano = leftIn(limit) + unusedNano
  const maxTokens = affordableTokens(wish, leftNano)
  if (maxTokens < 1) {
    deps.warnings?.refused(limit)
    return exhausted(limit, leftNano, costAtMost(wish, 1))
  }
  const needed = costAtMost(wish, maxTokens) - unusedNano
  const hold = own ?? holds.open({ wish, day, at }, needed)
  // The hold's row is gone, and so is its unused money: the limits are checked again without it.
  if (own && needed > 0 && !holds.resize(own, needed)) return takeReservation(deps, wish)
  return reservationFrom(holds, hold, { wish, maxTokens, at })
}

export function reservationFrom(
  holds: Holds,
  hold: Hold,
  request: { readonly wish: OwnWish; readonly maxTokens: number; readonly at: number },
): Reservation {
  const { wish, maxTokens, at } = request
  const reservedNano = costAtMost(wish, maxTokens)
  const id = holds.take(hold, reservedNano)
  const row = { ...hold.row, id, taskId: wish.run?.taskId ?? null, model: wish.model, reservedNano }
  return { id, reservedNano, maxTokens, row, openedAt: at, hold }
}

export function freeReservation(
  deps: Pick<TakeDeps, 'newId'>,
  wish: Pick<OwnWish, 'agentId' | 'run' | 'project' | 'model' | 'maxTokens'>,
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
  return { id: row.id, reservedNano: 0, maxTokens: wish.maxTokens, row, openedAt: at, hold: null }
}
