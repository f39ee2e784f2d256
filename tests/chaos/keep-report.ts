import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { formatCoverage, formatFindings, formatReadyTimes } from './report.ts'
import type { ChaosReport } from './run-chaos.ts'

/**
 * Writes the report of a chaos test: as text, and as JSON with each call whose result was not `done` and the last
 * lines of each mesh process that ended by itself. Returns the path of the text.
 */
export async function keepReport(folder: string, report: ChaosReport): Promise<string> {
  const { options, facts, findings, instances, counts, seconds } = report
  const { runtime, seed, runs } = options
  await mkdir(folder, { recursive: true })
  const path = join(folder, `${runtime}-${seed}-${runs}`)
  const text = [
    `seed ${seed}, ${runtime}, ${runs} runs asked for, ${new Date().toISOString()}`,
    formatCoverage(report),
    formatReadyTimes(instances),
    '',
    formatFindings(report),
    '',
  ].join('\n')
  const kept = {
    runtime,
    seed,
    runs,
    seconds,
    counts,
    findings,
    told_otherwise: facts.calls.filter(({ told }) => told !== 'done' && told !== null),
    outcomes: facts.runs.filter(({ state }) => state !== 'done'),
    instances: instances
      .filter(({ killed, endedAt }) => endedAt !== null && !killed)
      .map(({ number, lines, errors }) => ({ number, lines: lines.slice(-20), errors })),
  }
  await writeFile(`${path}.txt`, text)
  await writeFile(`${path}.json`, `${JSON.stringify(kept, null, 2)}\n`)
  return `${path}.txt`
}
