import type { Reply } from '@flotilla/client/mesh-call'
import { expect, it } from 'vitest'
import { costTable } from './costs.ts'

const cache = { read_tokens: 0, written_tokens: 0, read_usd: 0, written_usd: 0, saved_usd: 0 }

interface Row {
  readonly key: string
  readonly usd: number
  readonly prompt_tokens: number
  readonly reported_tokens?: number
}

function aReport(rows: readonly Row[]): Reply<'costReport'> {
  const sum = (of: (row: (typeof rows)[number]) => number) => rows.reduce((all, row) => all + of(row), 0)
  const figures = { calls: 1, completion_tokens: 0, unconfirmed_usd: 0, reported_tokens: 0, cache }
  return {
    by: 'agent',
    from: '2026-11-01',
    to: '2026-11-30',
    total: {
      ...figures,
      usd: sum(({ usd }) => usd),
      prompt_tokens: sum((row) => row.prompt_tokens),
      reported_tokens: sum((row) => row.reported_tokens ?? 0),
    },
    rows: rows.map((row) => ({ ...figures, ...row, daily_usd: [0, row.usd] })),
  }
}

it('where all calls are free, the shares are those of the tokens', () => {
  const [title, , ...rows] = costTable(
    aReport([
      { key: 'operator', usd: 0, prompt_tokens: 250 },
      { key: 'scout', usd: 0, prompt_tokens: 750 },
    ]),
  )
  expect(title).toContain('SHARE OF TOKENS')
  expect(title).not.toContain('OVER THE DAYS')
  expect(rows[0]).toMatch(/operator +free .* 25 %/)
  expect(rows[1]).toMatch(/scout +free .* 75 %/)
})

it('where some calls are paid, the shares are those of the money', () => {
  const rows = costTable(
    aReport([
      { key: 'operator', usd: 3, prompt_tokens: 1 },
      { key: 'scout', usd: 1, prompt_tokens: 999 },
    ]),
  )
  expect(rows[2]).toMatch(/operator +\$3\.00 .* 75 %/)
})

it('tokens that a harness reported have a column of their own, and their calls are not called free', () => {
  const [title, , ...rows] = costTable(
    aReport([
      { key: 'operator', usd: 0, prompt_tokens: 250 },
      { key: 'coder', usd: 0, prompt_tokens: 750, reported_tokens: 700 },
    ]),
  )
  expect(title).toContain('UNPRICED')
  expect(rows[0]).toMatch(/operator +free /)
  expect(rows[1]).toMatch(/coder +unpriced .* 750 +0 +700/)
})
