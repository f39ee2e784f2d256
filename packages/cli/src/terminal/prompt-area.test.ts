import { describe, expect, it } from 'vitest'
import { createPromptArea } from './prompt-area.ts'
import { rowText, rowUnitsPerColumn, takeRows } from './screen-rows.ts'
import type { OpenRow } from './screen-rows.ts'

const columns = 80
const rowUnitsMax = columns * rowUnitsPerColumn
const input = { prompt: 'teller › ', text: 'typed', cursor: 5 }

/** Texts whose characters all combine with the character before them, however many follow. */
const endless = {
  marks: '\u0301',
  'joiners and marks': '\u200D\uFE0F',
  'joined pictures': '👩\u200D',
  'first letters of syllables': '\u1100',
  'vowels of syllables': '\u1161',
  'signs before numbers': '\u0600',
  'tones of skin': '\u{1F3FD}',
}

function streamed(text: string, count: number) {
  const pieces: string[] = []
  const area = createPromptArea({ isTTY: true, columns, write: (piece) => pieces.push(piece) }, () => input)
  for (let at = 0; at < count; at++) area.stream(text)
  const bytes = pieces.map((piece) => Buffer.byteLength(piece))
  return {
    writes: pieces.length,
    bytesMax: Math.max(...bytes),
    bytes: bytes.reduce((sum, one) => sum + one, 0),
  }
}

describe('an answer that streams above what is typed', () => {
  it.each(Object.entries(endless))(
    'an answer that streams above what is typed takes a bounded row of endless %s',
    (_kind, text) => {
      let row: OpenRow | null = null
      for (let at = 0; at < 500; at++) {
        const taken = takeRows(row, text.repeat(10), columns)
        for (const said of taken.rows) expect(said.length).toBeLessThanOrEqual(rowUnitsMax + 1)
        expect(rowText(taken.rest).length).toBeLessThanOrEqual(rowUnitsMax)
        row = taken.rest
      }
    },
  )

  it.each(Object.entries(endless))(
    'an answer that streams above what is typed costs no more for each piece of endless %s',
    (_kind, text) => {
      const { writes, bytesMax } = streamed(text.repeat(10), 300)
      expect(writes).toBe(300)
      // A code unit has at most three bytes; the area below and the cursor have some more.
      expect(bytesMax).toBeLessThan(3 * rowUnitsMax + 3 * 10 * text.length + 200)
    },
  )

  it('an answer that streams above what is typed costs for each piece what is new in it, and not the row again', () => {
    const short = streamed('abcd', 10)
    const long = streamed('abcd', 1_000)
    expect(long.bytes / 1_000).toBeLessThan((2 * short.bytes) / 10)
    const near = streamed('a', 79)
    expect(near.bytesMax).toBeLessThan(60)
  })

  it('an answer that streams above what is typed leaves nothing more than the allowed marks when they come one by one', () => {
    let row: OpenRow | null = takeRows(null, 'a', columns).rest
    for (let at = 0; at < 1_000; at++) row = takeRows(row, '\u0301', columns).rest
    expect(rowText(row).length).toBeLessThan(50)
  })
})
