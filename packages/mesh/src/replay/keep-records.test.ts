import { expect, test } from 'vitest'
import type { Exchange } from './exchange.ts'
import { createRecordReader, shownRecord } from './keep-records.ts'

function aReader() {
  const read: string[] = []
  const sizes = new Map<string, number>()
  const reader = createRecordReader({
    of: (runId): Exchange[] => {
      read.push(runId)
      return []
    },
    sizeOf: (runId) => ({ number: sizes.get(runId) ?? 0, bytes: 1 }),
  })
  return { read, sizes, reader }
}

test('a record that has not changed is read once', () => {
  const { read, sizes, reader } = aReader()
  expect(reader('a')).toBe(reader('a'))
  expect(read).toEqual(['a'])
  sizes.set('a', 1)
  reader('a')
  expect(read).toEqual(['a', 'a'])
})

test('no more than the last few records are remembered', () => {
  const { read, reader } = aReader()
  for (const id of ['a', 'b', 'c', 'd', 'a', 'e']) reader(id)
  expect(read).toEqual(['a', 'b', 'c', 'd', 'e'])
  reader('a')
  expect(read).toHaveLength(5)
  reader('b')
  expect(read).toHaveLength(6)
})

test('a record is cleaned once for as long as the same values are held', () => {
  const record = {
    steps: [],
    turns: [{ from: 0, to: 0, asked: 'go', history: [{ role: 'user' as const, content: 'before' }] }],
    beside: 0,
  }
  const clean = (words: string) => `${words} clean`
  const shown = shownRecord(record, clean)
  expect(shown.turns[0]?.asked).toBe('go clean')
  expect(shown.turns[0]?.history).toEqual([{ role: 'user', content: 'before clean' }])
  expect(shownRecord(record, clean)).toBe(shown)
  expect(shownRecord(record, (words) => words).turns[0]?.asked).toBe('go')
})
