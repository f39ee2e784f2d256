import { expect, test } from 'vitest'
import { formatRunCosts } from './format-run-costs.ts'

const limit = (scope: string, name: string, [of, left]: readonly [number, number]) => ({
  name,
  scope,
  limit_usd: of,
  left_usd: left,
})

test('the cost of a waiting run is given per call, with its tightest limit', () => {
  const limits = [
    limit('agent', 'daily', [5, 4.5]),
    limit('run', 'run', [1, 0.988]),
    limit('fleet', 'daily', [20, 19]),
  ]
  expect(formatRunCosts({ agentId: 'operator', calls: 3, spentUsd: 0.012, limits })).toEqual([
    'The run of operator that requested this continues whatever you decide, and its further calls cost money. So far it has cost USD 0.01 for 3 calls, USD 0.004000 each.',
    'The run can spend at most USD 0.99 more, from the run budget of the run, USD 1.00.',
  ])
})

test('one call is one, none is said, and where nothing bounds it nothing is said of a bound', () => {
  expect(formatRunCosts({ agentId: 'a', calls: 1, spentUsd: 0.002, limits: [] })).toEqual([
    'The run of a that requested this continues whatever you decide, and its further calls cost money. So far it has cost USD 0.002000 for 1 call.',
  ])
  expect(formatRunCosts({ agentId: 'a', calls: 0, spentUsd: 0, limits: [] })).toEqual([
    'The run of a that requested this continues whatever you decide; it has called no model yet.',
  ])
})
