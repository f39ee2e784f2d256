import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { conversationOf } from './conversation.ts'

const place = (conversationId: string, threadId: string | null) => ({
  conversationId,
  threadId,
  isPrivate: false,
})

test.each([
  ['a slash', place('a/b', null), place('a', 'b')],
  ['two slashes', place('a/b', 'c'), place('a', 'b/c')],
  ['an encoded slash', place('a%2Fb', null), place('a/b', null)],
])('a name with %s gives a different key', (_what, one, other) => {
  expect(conversationOf(one)).not.toBe(conversationOf(other))
})

test('ids of platforms are kept in the key', () => {
  expect(conversationOf(place('-2000', '9'))).toBe('-2000/9')
  expect(conversationOf(place('C0123', '1700000000.000100'))).toBe('C0123/1700000000.000100')
})

test('two places never share a key, and none equals a notice queue', () => {
  const part = fc.string({ unit: fc.constantFrom('a', '/', '%', ' ', '2', 'F', 'n'), maxLength: 8 })
  const anywhere = fc.tuple(part, fc.option(part))
  fc.assert(
    fc.property(anywhere, anywhere, ([id, thread], [otherId, otherThread]) => {
      const [one, other] = [conversationOf(place(id, thread)), conversationOf(place(otherId, otherThread))]
      expect(one === other).toBe(id === otherId && thread === otherThread)
      expect(one).not.toContain(' ')
    }),
  )
})
