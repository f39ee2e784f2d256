import { expect, test } from 'vitest'
import { ChannelFailure } from '../adapter.ts'
import { createIsWanted } from './is-wanted.ts'
import type { Letter } from './letter-table.ts'

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
  ['an answer to nobody whom we know', { person: null }, nobody, true],
  ['an answer to who asked, from the same account', {}, {}, true],
  ['an answer to who lost that account', {}, { isTheirs: () => false }, false],
  ['an answer to another account', { senderId: '2000' }, {}, false],
  ['an answer of before accounts were kept', { senderId: null }, {}, true],
  ['the same to who is gone', { senderId: null }, { talks: { isTold: () => false } }, false],
  ['an answer while nobody can be told apart', {}, { broken: () => 'x' }, true],
  ['a notice to an owner', { source: 'notice:notes:1', senderId: null }, {}, true],
  ['a notice to who owns nothing any more', { source: 'notice:notes:1' }, { ownersOn: () => ['bob'] }, false],
  [
    'a notice on a channel where they own nothing',
    { source: 'notice:notes:1', channel: 'discord' },
    { isTheirs: () => true },
    false,
  ],
  ['an answer that only speaks of notices', { source: 'run:notice:1' }, { ownersOn: () => [] }, true],
])('%s', (...[, fields, given, wanted]) => {
  expect(createIsWanted(deps(given))(letter(fields))).toBe(wanted)
})

test('a notice waits while people.json is broken', () => {
  const isWanted = createIsWanted(deps({ broken: () => 'people.json has no end' }))
  expect(() => isWanted(letter({ source: 'notice:notes:1' }))).toThrow(
    new ChannelFailure('unreachable', 'people.json has no end'),
  )
})
