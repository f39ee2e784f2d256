import process from 'node:process'
import { expect, it } from 'vitest'
import { formatCoverage, formatFindings, formatReadyTimes } from '../chaos/report.ts'
import { runChaos } from '../chaos/run-chaos.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()
const soak = process.env['FLOTILLA_SOAK'] === '1'
const tell = (text: string) => process.stderr.write(`${text}\n`)

withEngine(
  'a fleet under random kills',
  () => {
    // It takes a minute or two for each ten runs, so only the long proofs include it.
    it.runIf(soak)(
      'the fleet does each thing once, notifies every requester, and leaves nothing in the engine',
      async () => {
        const options = {
          runtime: 'docker',
          seed: 20_261_122,
          runs: 60,
          maxMinutes: 60,
          progress: tell,
        } as const
        const report = await runChaos(options)
        tell(`${formatCoverage(report)}\n${formatReadyTimes(report.instances)}`)
        expect(report.findings, formatFindings(report)).toEqual([])
        expect(report.counts.mesh).toBeGreaterThan(0)
      },
      7_200_000,
    )
  },
  found,
)
