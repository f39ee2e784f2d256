import fc from 'fast-check'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { expect, onTestFinished, test } from 'vitest'
import { fitTurns } from './fit-turns.ts'

const part = (text: string): JsonObject => ({ type: 'text', text })

/** How many elements of lists are copied while the work runs. */
function copiesIn(work: () => void): number {
  // Spreads of lists that the code made itself are seen only here.
  /* oxlint-disable eslint/no-extend-native -- counts copies, and is restored */
  const original = Array.prototype[Symbol.iterator]
  let copies = 0
  const restore = () => void (Array.prototype[Symbol.iterator] = original)
  onTestFinished(restore)
  Array.prototype[Symbol.iterator] = function* counted(this: unknown[]) {
    for (let at = 0; at < this.length; at += 1) {
      copies += 1
      yield this[at]
    }
    return undefined
  }
  /* oxlint-enable eslint/no-extend-native */
  work()
  restore()
  return copies
}

test('messages of one role are joined in linear time, whether they have parts or text', () => {
  const copiesOf = (count: number, joinsParts: boolean, content: JsonValue) => {
    const messages = Array.from({ length: count }, () => ({ role: 'user', content }))
    return copiesIn(() => void fitTurns(messages, joinsParts))
  }
  for (const [joinsParts, content] of [
    [false, [part('a')]],
    [true, 'a'],
    [false, 'a'],
  ] as const) {
    const [few, many] = [
      copiesOf(100, joinsParts, content as JsonValue),
      copiesOf(400, joinsParts, content as JsonValue),
    ]
    expect(many).toBeLessThanOrEqual(4 * few + 10)
  }
})

/** The content of two messages that become one. */
function joinedPair(before: JsonValue, next: JsonValue, joinsParts: boolean): JsonValue {
  const partsOf = (content: JsonValue): readonly JsonValue[] =>
    Array.isArray(content) ? content : typeof content === 'string' && content !== '' ? [part(content)] : []
  const isText = typeof before === 'string' && typeof next === 'string'
  if (isText && !(joinsParts && before.trim() !== '' && next.trim() !== '')) return `${before}\n\n${next}`
  const parts = [...partsOf(before), ...partsOf(next)]
  return parts.length === 0 ? null : parts
}

test('many messages of one role become what their pairs become, one after another', () => {
  const content = fc.oneof(
    fc.constantFrom<JsonValue>('', ' ', 'a', 'b c', null, []),
    fc.array(fc.string({ maxLength: 3 }).map(part), { maxLength: 3 }),
  )
  fc.assert(
    fc.property(fc.array(content, { minLength: 2, maxLength: 8 }), fc.boolean(), (contents, joinsParts) => {
      const messages = contents.map((one, at) => ({ role: 'user', content: one, [`name${at}`]: at }))
      const [first = null, ...rest] = contents
      const joined = rest.reduce<JsonValue>((before, next) => joinedPair(before, next, joinsParts), first)
      const names = Object.fromEntries(contents.map((_, at) => [`name${at}`, at]))
      expect(fitTurns(messages, joinsParts)).toEqual([{ role: 'user', content: joined, ...names }])
    }),
  )
})
