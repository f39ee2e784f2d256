import { describe, expect, test } from 'vitest'
import { bedrockStreams } from './bedrock-rows.ts'
import { nativeOddities } from './native-rows.ts'
import { oddities } from './oddities.ts'
import { inputKinds, publicInputs } from './public-inputs.ts'

/** The tables whose every row is a test in `surfaces.test.ts` and `native-wires.test.ts`. */
const played = new Map([...oddities, ...nativeOddities, ...bedrockStreams].map((row) => [row.what, row]))

describe('public bug reports', () => {
  test('public bug reports of every kind are played, at least 35 different ones', () => {
    expect(new Set(publicInputs.map(({ report }) => report)).size).toBeGreaterThanOrEqual(35)
    expect(new Set(publicInputs.map(({ row }) => row)).size).toBe(publicInputs.length)
    expect(new Set(publicInputs.map(({ kind }) => kind))).toEqual(new Set(inputKinds))
  })

  test.each(publicInputs)(
    'public bug reports are threads, and $row is a row that runs',
    ({ report, row }) => {
      expect(report).toMatch(/^https:\/\/github\.com\/[\w.-]+\/[\w.-]+\/(?:issues|pull)\/\d+$/)
      expect(played.get(row)?.wire.length).toBeGreaterThan(0)
    },
  )
})
