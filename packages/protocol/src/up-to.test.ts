import { expect, test } from 'vitest'
import { upTo } from './up-to.ts'

test('an amount is marked as a bound only if a part of it is unconfirmed', () => {
  expect([upTo('$0.02', 0), upTo('$0.02', 0.001), upTo('52k', 1)]).toEqual([
    '$0.02',
    'up to $0.02',
    'up to 52k',
  ])
})
