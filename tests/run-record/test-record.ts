import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'

/** The result of one test in one run of the tests. */
const recordedTest = z.object({
  file: z.string(),
  name: z.string(),
  project: z.string(),
  state: z.enum(['passed', 'failed', 'skipped']),
  durationMs: z.number(),
  verifies: z.array(z.string()),
  /** What a failed one met: its sentence, the difference, and where. */
  failure: z.string().optional(),
})
export type RecordedTest = z.infer<typeof recordedTest>

const projectRecord = z.object({
  startedAt: z.string(),
  durationMs: z.number(),
  /** Files whose tests could not be collected, and errors that no test owns. */
  broken: z.array(z.string()),
  tests: z.array(recordedTest),
})
export type ProjectRecord = z.infer<typeof projectRecord>

/** Where `npm test` leaves what ran, and `npm run spec` finds it, below the root of the repository. */
export const recordFolder = join('node_modules', '.cache', 'flotilla-tests')

/** Writes what became of one project's tests, over what its last run left. */
export function writeProjectRecord(folder: string, project: string, record: ProjectRecord): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${project}.json`), JSON.stringify(record))
}

/** What the projects of the last run left, by project; empty where there was no run. */
export function readProjectRecords(folder: string): ReadonlyMap<string, ProjectRecord> {
  const records = new Map<string, ProjectRecord>()
  for (const name of filesIn(folder)) {
    if (!name.endsWith('.json')) continue
    const parsed: unknown = JSON.parse(readFileSync(join(folder, name), 'utf8'))
    records.set(name.slice(0, -'.json'.length), projectRecord.parse(parsed))
  }
  return records
}

function filesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).sort()
  } catch {
    return []
  }
}

/** The tests that took longest, slowest first. */
export function slowestTests(tests: readonly RecordedTest[], count: number): readonly RecordedTest[] {
  return tests.toSorted((left, right) => right.durationMs - left.durationMs).slice(0, count)
}
