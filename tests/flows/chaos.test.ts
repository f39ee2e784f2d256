import process from 'node:process'
import { expect, it } from 'vitest'
import { formatCoverage, formatFindings, formatReadyTimes } from '../chaos/report.ts'
import { runChaos } from '../chaos/run-chaos.ts'
import { patient } from '../support/patience.ts'

const soak = process.env['FLOTILLA_SOAK'] === '1'
const tell = (text: string) => process.stderr.write(`${text}\n`)

it(
  'a fleet of plain processes under random kills does each thing once, notifies every requester, and leaves nothing',
  async () => {
    const report = await runChaos({
      runtime: 'process',
      seed: 20_261_122,
      runs: soak ? 300 : 12,
      maxMinutes: soak ? 60 : 0.5,
      ...(soak ? {} : { blows: 5 }),
      progress: soak ? tell : () => undefined,
    })
    tell(`${formatCoverage(report)}\n${formatReadyTimes(report.instances)}`)
    expect(report.findings, formatFindings(report)).toEqual([])
    expect(report.counts.mesh).toBeGreaterThan(0)
  },
  patient(process.env['FLOTILLA_SOAK'] === '1' ? 7_200_000 : 240_000),
)
