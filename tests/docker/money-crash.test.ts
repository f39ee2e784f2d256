import process from 'node:process'
import { expect, it } from 'vitest'
import { killUnderCalls } from '../support/money-kills.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'
import { patient } from '../support/patience.ts'

const [kills, seconds] = process.env['FLOTILLA_SOAK'] === '1' ? [30, 60] : [3, 25]

withEngine(
  'money over kills of the mesh',
  () => {
    it(
      'the ledger of money is what the rows say, while a container that outlives it calls as the walls are tried',
      async () => {
        const { calls } = await killUnderCalls({ runtime: 'docker', kills, seconds })
        expect(calls).toBeGreaterThan(kills)
      },
      patient(1_200_000),
    )
  },
  await engineOfThisMachine(),
)
