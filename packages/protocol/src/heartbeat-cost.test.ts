import { expect, test } from 'vitest'
import { describeHeartbeatCost, heartbeatModel, heartbeatUsdADay } from './heartbeat-cost.ts'

const paid = { id: 'openai/gpt', price: { input_per_mtok: 1, output_per_mtok: 10 }, free_because: null }

test.each([
  ['every 15m', 96 * 0.005],
  ['every 2h', 12 * 0.005],
  ['every 7d', 0.005 / 7],
])('a day of %s costs its calls times the price of the model', (schedule, usd) => {
  expect(heartbeatUsdADay(schedule, paid.price)).toBeCloseTo(usd, 9)
})

test.each([
  ['every 15m', paid, 'up to 96 model calls a day, about $0.48 a day at the price of openai/gpt'],
  ['every 1d', paid, 'up to 1 model calls a day, less than $0.01 a day'],
  ['every 7d', paid, 'less than one model call a day'],
  [
    'every 1h',
    { ...paid, price: null, free_because: 'played' },
    'up to 24 model calls a day, which cost nothing',
  ],
  ['every 1h', { ...paid, price: null }, 'the price of its model is not known'],
  ['every 1h', null, 'the price of its model is not known'],
])('the cost of %s is described (%#)', (schedule, model, words) => {
  expect(describeHeartbeatCost(schedule, model)).toContain(words)
})

test('the model of heartbeats is the one that the settings choose, else that of the agent', () => {
  const own = { id: 'a/own', chosen_for: ['compaction'] }
  const cheap = { id: 'a/cheap', chosen_for: ['heartbeat'] }
  expect(heartbeatModel([own, cheap], 'a/own')).toBe(cheap)
  expect(heartbeatModel([own], 'a/own')).toBe(own)
  expect(heartbeatModel([own], undefined)).toBeNull()
})
