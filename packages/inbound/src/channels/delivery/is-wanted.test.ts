import { expect, test } from 'vitest'
import { ChannelFailure } from '../adapter.ts'
import { createIsWanted } from './is-wanted.ts'
import type { Letter } from '../messages/letter-table.ts'

type Deps = Parameters<typeof createIsWanted>[0]

const place = { conversationId: '1', threadId: null, isPrivate: true }
const letter = (fields: Partial<Letter>) =>
  ({ channel: 'slack', source: 'run:1', person: 'ann', senderId: '1000', place, ...fields }) as Letter
const deps = (fields: Partial<Deps> = {}): Deps => ({
  isTheirs: (channel, senderId, person) => channel === 'slack' && senderId === '1000' && person === 'ann',
  talks: { isTold: (to) => to.channel === 'slack' && to.person === 'ann' && to.place === place },
  broken: () => null,
  ownersOn: (channel) => (channel === 'slack' ? ['ann'] : []),
  ...fields,
})
const nobody: Partial<Deps> = { isTheirs: () => false, talks: { isTold: () => false }, ownersOn: () => [] }

test.each<[string, Partial<Letter>, Partial<Deps>, boolean]>([
  ['a reply to a stranger is sent', { person: null }, nobody, true],
  ['a reply to the person with the same account is sent', {}, {}, true],
  ['a reply to a person who lost the account is dropped', {}, { isTheirs: () => false }, false],
  ['a reply to another account is dropped', { senderId: '2000' }, {}, false],
  ['a reply of an earlier release without an account follows the conversation', { senderId: null }, {}, true],
  [
    'a reply of an earlier release to a removed person is dropped',
    { senderId: null },
    { talks: { isTold: () => false } },
    false,
  ],
  ['a reply is sent while people.json is broken', {}, { broken: () => 'x' }, true],
  ['a notice to an owner is sent', { source: 'notice:notes:1', senderId: null }, {}, true],
  ['a notice to a former owner is dropped', { source: 'notice:notes:1' }, { ownersOn: () => ['bob'] }, false],
  [
    "a notice on a channel without an owner's identity is dropped",
    { source: 'notice:notes:1', channel: 'discord' },
    { isTheirs: () => true },
    false,
  ],
  [
    'a reply whose source only resembles a notice is sent',
    { source: 'run:notice:1' },
    { ownersOn: () => [] },
    true,
  ],
])('%s', (...[, fields, given, wanted]) => {
  expect(createIsWanted(deps(given))(letter(fields))).toBe(wanted)
})

test('a notice waits while people.json is broken', () => {
  const isWanted = createIsWanted(deps({ broken: () => 'people.json has no end' }))
  expect(() => isWanted(letter({ source: 'notice:notes:1' }))).toThrow(
    new ChannelFailure('unreachable', 'people.json has no end'),
  )
})
