import process from 'node:process'
import { describe, expect, it } from 'vitest'
import { killUnderCalls } from '../support/money-kills.ts'
import { patient } from '../support/patience.ts'

const kills = process.env['FLOTILLA_SOAK'] === '1' ? 80 : 4

describe('money over kills of the mesh', () => {
  it(
    'is what the rows say, while an agent that outlives it calls at every moment of its start',
    async () => {
      const { calls } = await killUnderCalls({ runtime: 'process', kills, seconds: kills > 20 ? 60 : 15 })
      expect(calls).toBeGreaterThan(kills)
    },
    patient(900_000),
  )
})
