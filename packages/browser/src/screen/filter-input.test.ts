import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createInputFilter } from './filter-input.ts'

const begin = [Buffer.from('RFB 003.008\n'), Buffer.from([1]), Buffer.from([0])]
const looking = [
  Buffer.concat([Buffer.from([0]), Buffer.alloc(19)]),
  Buffer.from([2, 0, 0, 1, 0, 0, 0, 7]),
  Buffer.concat([Buffer.from([3]), Buffer.alloc(9)]),
  Buffer.concat([Buffer.from([150]), Buffer.alloc(9)]),
  Buffer.concat([Buffer.from([248]), Buffer.alloc(7), Buffer.from([2, 9, 9])]),
]
const acting = [
  Buffer.from([4, 1, 0, 0, 0, 0, 0, 97]),
  Buffer.from([5, 1, 0, 10, 0, 10]),
  Buffer.concat([Buffer.from([6, 0, 0, 0, 0, 0, 0, 3]), Buffer.from('abc')]),
  Buffer.concat([Buffer.from([6, 0, 0, 0, 0xff, 0xff, 0xff, 0xfd]), Buffer.from('abc')]),
  Buffer.concat([Buffer.from([251, 0, 1, 1, 1, 1, 1, 0]), Buffer.alloc(16)]),
  Buffer.concat([Buffer.from([255, 0]), Buffer.alloc(10)]),
]

/** Returns what the filter passes of these bytes, sent in pieces of these lengths. */
function passed(bytes: Buffer, mayControl: boolean, pieces: readonly number[] = []): Buffer | null {
  const filter = createInputFilter()
  const out: Buffer[] = []
  let at = 0
  for (const length of [...pieces, bytes.length]) {
    const one = filter.pass(bytes.subarray(at, at + length), mayControl)
    if (one === null) return null
    out.push(one)
    at += length
  }
  return Buffer.concat(out)
}

describe('the messages of a watcher', () => {
  const all = Buffer.concat([...begin, ...looking, ...acting, ...looking])
  const shared = [begin[0] ?? Buffer.alloc(0), begin[1] ?? Buffer.alloc(0), Buffer.from([1])]

  test('the messages of a watcher without control is what asks for the picture, and nothing that acts, however it is cut', () => {
    const expected = Buffer.concat([...shared, ...looking, ...looking])
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 60 }), (pieces) => {
        expect(passed(all, false, pieces)?.equals(expected)).toBe(true)
      }),
    )
  })

  test('the messages of a watcher with control are all passed on, but cannot disconnect other watchers', () => {
    expect(passed(all, true)?.equals(Buffer.concat([...shared, ...looking, ...acting, ...looking]))).toBe(
      true,
    )
  })

  test.each([
    ['an older protocol, whose messages are others', Buffer.from('RFB 003.003\n')],
    ['another kind of security', Buffer.concat([Buffer.from('RFB 003.008\n'), Buffer.from([2])])],
    ['an unknown message', Buffer.concat([...begin, Buffer.from([99])])],
    ['a paste that never ends', Buffer.concat([...begin, Buffer.from([6, 0, 0, 0, 0x7f, 0, 0, 0])])],
    ['a message of QEMU that is no key', Buffer.concat([...begin, Buffer.from([255, 1])])],
  ])('the messages of a watcher is not taken as %s', (_, bytes) => {
    expect(passed(bytes, true)).toBeNull()
  })
})
