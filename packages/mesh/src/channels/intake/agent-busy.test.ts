import { expect, test } from 'vitest'
import { whyBusy } from './agent-busy.ts'

const shares = { ofPerson: 0, ofAgent: 0, ofAll: 0, others: 0 }

test.each([
  ['nobody waits', shares, null],
  ['one of theirs is left to their part', { ...shares, ofPerson: 4, ofAgent: 4, ofAll: 4 }, null],
  [
    'they have their part',
    { ...shares, ofPerson: 5 },
    /^it has 5 messages of yours that are not answered yet; send/,
  ],
  ['twelve wait, and five of sixty are theirs still', { ...shares, ofPerson: 4, others: 11 }, null],
  [
    'others leave four of sixty',
    { ...shares, ofPerson: 4, others: 12 },
    /^it has 4 messages .* yet, and 12 other people wait; send/,
  ],
  [
    'others leave one',
    { ...shares, ofPerson: 1, others: 59 },
    /^it has 1 message of yours that is not answered yet, and 59 /,
  ],
  ['others leave none, and they have none', { ...shares, others: 500 }, null],
  ['the agent has all but one', { ...shares, ofAgent: 59 }, null],
  ['the agent has all that it may', { ...shares, ofAgent: 60 }, /^too many people are waiting/],
  ['the fleet has all but one', { ...shares, ofAll: 299 }, null],
  ['the fleet has all that it may', { ...shares, ofAll: 300 }, /^the fleet is fully occupied/],
])('the answer to another run when %s', (_where, given, why) => {
  const found = whyBusy(given)
  if (why === null) expect(found).toBeNull()
  else expect(found).toMatch(why)
})
