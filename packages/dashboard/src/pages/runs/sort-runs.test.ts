import type { RunView } from '@flotilla/protocol/run'
import { expect, it } from 'vitest'
import { runOrders, sortRuns } from './sort-runs.ts'

const run = (
  id: string,
  [started, ended]: readonly [number | null, number | null],
  [tokens, usd]: readonly [number, number],
) => ({ id, started_at: started, ended_at: ended, tokens_used: tokens, cost_usd: usd }) as unknown as RunView

it('runs are sorted by what they took, and stay newest first otherwise', () => {
  const runs = [
    run('new', [null, null], [5, 3]),
    run('open', [10, null], [9, 1]),
    run('old', [1, 51], [7, 2]),
  ]
  const orders = runOrders.map((order) => sortRuns(runs, order, 40).map(({ id }) => id))
  expect(orders).toEqual([
    ['new', 'open', 'old'],
    ['old', 'open', 'new'],
    ['open', 'old', 'new'],
    ['new', 'old', 'open'],
  ])
})
