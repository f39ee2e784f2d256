import { expect, test } from 'vitest'
import { createScrubs } from '../../../egress/src/credentials/index.ts'
import { createSecret } from '../../../egress/src/credentials/secret.ts'
import type { Exchange, KeptMessage } from './exchange.ts'
import { pieceMaxChars } from './in-pieces.ts'
import type { Clean } from './in-pieces.ts'
import { createRecordReader, shownRecords } from './keep-records.ts'

function aReader() {
  const read: string[] = []
  const sizes = new Map<string, number>()
  const reader = createRecordReader({
    of: (runId) => {
      read.push(runId)
      return []
    },
    sizeOf: (runId) => ({ number: sizes.get(runId) ?? 0, bytes: 1 }),
  })
  return { read, sizes, reader }
}

test('a record that has not changed is read once', async () => {
  const { read, sizes, reader } = aReader()
  expect(reader('a')).toBe(reader('a'))
  expect(read).toEqual(['a'])
  sizes.set('a', 1)
  await reader('a')
  expect(read).toEqual(['a', 'a'])
})

test('no more than the last few records are remembered', async () => {
  const { read, reader } = aReader()
  for (const id of ['a', 'b', 'c', 'd', 'a', 'e']) await reader(id)
  expect(read).toEqual(['a', 'b', 'c', 'd', 'e'])
  await reader('a')
  expect(read).toHaveLength(5)
  await reader('b')
  expect(read).toHaveLength(6)
})

const recorded = {
  steps: [],
  turns: [{ from: 0, to: 0, asked: 'go', history: [{ role: 'user' as const, content: 'before' }] }],
  beside: 0,
}

const of = (change: (words: string) => string): Clean =>
  function* clean(words) {
    yield words.length
    return change(words)
  }

test('a record is cleaned once for as long as the same values are held', async () => {
  const clean = of((words) => `${words} clean`)
  const [shown] = await shownRecords([recorded], () => clean)
  expect(shown.turns[0]?.asked).toBe('go clean')
  expect(shown.turns[0]?.history).toEqual([{ role: 'user', content: 'before clean' }])
  expect((await shownRecords([recorded], () => clean))[0]).toBe(shown)
  const other = of((words) => words)
  expect((await shownRecords([recorded], () => other))[0].turns[0]?.asked).toBe('go')
})

test('what becomes a secret while a record is cleaned is not in it', async () => {
  const before = of((words) => {
    clean = after
    return words
  })
  const after = of((words) => words.replaceAll('before', '[secret]'))
  let clean = before
  const [shown] = await shownRecords([recorded], () => clean)
  expect(shown.turns[0]?.history).toEqual([{ role: 'user', content: '[secret]' }])
  const neverTheSame = () => of((words) => words)
  await expect(shownRecords([recorded], neverTheSame)).rejects.toThrow(
    expect.objectContaining({ code: 'conflict' }),
  )
})

test('one huge text of a record is cleaned in pieces, between which everybody else has a turn', async () => {
  const [count, chars] = [40, pieceMaxChars]
  const value = 'value-000-of-a-secret'
  // The value also crosses each boundary of two pieces.
  const asked = Array.from({ length: count }, () => value.padStart(chars + value.length / 2, 'words, ')).join(
    '',
  )
  const scrub = createScrubs()([createSecret('a', value)])
  let [turns, isOver] = [0, false]
  const tick = () => {
    turns++
    if (!isOver) setImmediate(tick)
  }
  setImmediate(tick)
  const record = { ...recorded, turns: [{ from: 0, to: 0, asked, history: [] }] }
  const [shown] = await shownRecords([record], () => scrub.inSteps)
  isOver = true
  expect(turns).toBeGreaterThan(count)
  expect(shown.turns[0]?.asked).toBe(asked.replaceAll(value, '[secret]'))
})

/** A conversation of this many questions with this many characters. */
function aLongRun(questions: number, chars: number): Exchange[] {
  const messages: KeptMessage[] = []
  return Array.from({ length: questions }, (_, number) => {
    messages.push({ role: 'user', content: `${number} ${'a%20long\\nquestion '.repeat(chars / 20)}` })
    const answer = { content: `answer ${number} value-00`, calls: [] }
    const exchange = { number, turn: number, at: number, purpose: 'loop', model: 'm', tools: {}, answer }
    return { ...exchange, messages: [...messages] }
  })
}

test('reading a record of several megabytes does not block the event loop', async () => {
  const of = aLongRun(200, 20_000)
  const secrets = Array.from({ length: 20 }, (_one, at) => createSecret('a', `value-00${at}-of-a-secret`))
  /** The longest time in which no other task had a turn, as a share of the whole. */
  async function longestStall(): Promise<number> {
    const reader = createRecordReader({
      of: () => of.map((exchange) => ({ exchange, chars: 20_000 })),
      sizeOf: () => ({ number: 0, bytes: 0 }),
    })
    const scrub = createScrubs()(secrets)
    const began = performance.now()
    let [last, longest, isOver] = [began, 0, false]
    const tick = () => {
      const now = performance.now()
      longest = Math.max(longest, now - last)
      last = now
      if (!isOver) setImmediate(tick)
    }
    setImmediate(tick)
    await shownRecords([await reader('a')], () => scrub.inSteps)
    isOver = true
    tick()
    return longest / (performance.now() - began)
  }
  // Without pauses the share would be nearly 1 in every try; a busy machine adds a wait to some tries only.
  const stalls: number[] = []
  while (stalls.length < 6 && !stalls.some((stall) => stall < 0.3)) stalls.push(await longestStall())
  expect(Math.min(...stalls)).toBeLessThan(0.3)
})
