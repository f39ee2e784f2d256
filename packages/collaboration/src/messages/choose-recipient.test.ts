import { expect, test } from 'vitest'
import { chooseRecipient } from './choose-recipient.ts'

const idle = (agentId: string) => ({ agentId, busy: false, queued: 0 })

test('no recipient is chosen from an empty list', () => {
  expect(chooseRecipient([])).toBeNull()
})

test('the agent with the least work is chosen, counting running and queued work alike', () => {
  const busy = { agentId: 'ada', busy: true, queued: 0 }
  const queued = { agentId: 'bob', busy: false, queued: 2 }
  expect(chooseRecipient([queued, busy])).toBe('ada')
  expect(chooseRecipient([queued, busy, idle('zoe')])).toBe('zoe')
})

test('of several agents with equal work the first by id is chosen, regardless of their order', () => {
  const all = ['b', 'a', 'a-b', 'a_b', 'B'].map(idle)
  expect(chooseRecipient(all)).toBe('B')
  expect(chooseRecipient(all.toReversed())).toBe('B')
  expect(chooseRecipient(all.filter(({ agentId }) => agentId !== 'B'))).toBe('a')
})
