import { expect, test } from 'vitest'
import { chooseRecipient } from './choose-recipient.ts'

const idle = (agentId: string) => ({ agentId, busy: false, queued: 0 })

test('nobody is chosen of nobody', () => {
  expect(chooseRecipient([])).toBeNull()
})

test('the one with the least to do gets it: what runs counts as what waits', () => {
  const busy = { agentId: 'ada', busy: true, queued: 0 }
  const queued = { agentId: 'bob', busy: false, queued: 2 }
  expect(chooseRecipient([queued, busy])).toBe('ada')
  expect(chooseRecipient([queued, busy, idle('zoe')])).toBe('zoe')
})

test('of several with as much to do it is the first by id, in whatever order they come', () => {
  const all = ['b', 'a', 'a-b', 'a_b', 'B'].map(idle)
  expect(chooseRecipient(all)).toBe('B')
  expect(chooseRecipient(all.toReversed())).toBe('B')
  expect(chooseRecipient(all.filter(({ agentId }) => agentId !== 'B'))).toBe('a')
})
