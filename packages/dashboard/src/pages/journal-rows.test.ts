import { describe, expect, it } from 'vitest'
import { joinJournalRows, journalRowsMax, readJournalRows } from './journal-rows.ts'

const line = (seq: number) =>
  `${JSON.stringify({ seq, at: seq, actor: 'Agent:scout', action: 'file.read', subject: '', detail: {}, hash: 'h' })}\n`

async function read(...seqs: readonly number[]) {
  const text = new TextEncoder().encode(seqs.map(line).join(''))
  // A piece may end anywhere.
  async function* pieces() {
    yield text.subarray(0, 7)
    yield text.subarray(7)
  }
  return readJournalRows(pieces())
}

const range = (from: number, count: number) => Array.from({ length: count }, (_, index) => from + index)

describe('rows of the journal', () => {
  it('rows of the journal are read newest first, and found by their text in capitals or small letters', async () => {
    const { rows, more } = await read(1, 2, 3)
    expect(rows.map(({ seq }) => seq)).toEqual([3, 2, 1])
    expect(rows[0]?.searched).toContain('agent:scout')
    expect(more).toBe(false)
  })

  it('rows of the journal grow by the new ones, each once, up to their limit', async () => {
    const before = await read(1, 2)
    const joined = joinJournalRows(before, await read(2, 3, 4))
    expect(joined.rows.map(({ seq }) => seq)).toEqual([4, 3, 2, 1])
    // Without new rows the same list is returned, so that the page does not draw again.
    expect(joinJournalRows(before, await read(2))).toBe(before)
    const full = joinJournalRows(await read(...range(1, journalRowsMax)), await read(journalRowsMax + 1))
    expect(full.rows).toHaveLength(journalRowsMax)
    expect(full.rows[0]?.seq).toBe(journalRowsMax + 1)
    expect(full.more).toBe(true)
  })
})
