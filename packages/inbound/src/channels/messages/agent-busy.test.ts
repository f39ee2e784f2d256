import { expect, test } from 'vitest'
import { whyBusy } from './agent-busy.ts'

const shares = { ofPerson: 0, ofAgent: 0, ofAll: 0, others: 0 }

test.each([
  ['no one else waits', shares, null],
  ['the person has one run left', { ...shares, ofPerson: 4, ofAgent: 4, ofAll: 4 }, null],
  [
    'the person has used the share',
    { ...shares, ofPerson: 5 },
    /^the agent has 5 messages of yours that are not answered yet; send/,
  ],
  ['twelve others wait, and five of sixty runs are the share', { ...shares, ofPerson: 4, others: 11 }, null],
  [
    'others leave a share of four of sixty',
    { ...shares, ofPerson: 4, others: 12 },
    /^the agent has 4 messages .* yet, and 12 other people wait; send/,
  ],
  [
    'others leave a share of one',
    { ...shares, ofPerson: 1, others: 59 },
    /^the agent has 1 message of yours that is not answered yet, and 59 /,
  ],
  ['others leave no share, and the person has no run', { ...shares, others: 500 }, null],
  ['the agent has one run less than its limit', { ...shares, ofAgent: 59 }, null],
  ['the agent has reached its limit', { ...shares, ofAgent: 60 }, /^too many people are waiting/],
  ['the fleet has one run less than its limit', { ...shares, ofAll: 299 }, null],
  ['the fleet has reached its limit', { ...shares, ofAll: 300 }, /^the fleet is fully occupied/],
])('the sender receives the answer to another run when %s', (_where, given, why) => {
  const found = whyBusy(given)
  if (why === null) expect(found).toBeNull()
  else expect(found).toMatch(why)
})
