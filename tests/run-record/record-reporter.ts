import process from 'node:process'
import type { Reporter, TestCase, TestModule } from 'vitest/node'
import { citedBy } from '../verifies.ts'
import { writeProjectRecord } from './test-record.ts'
import type { RecordedTest } from './test-record.ts'

/**
 * Writes which tests ran and what became of each, with the clauses that they cite, into the folder of
 * FLOTILLA_TEST_RECORD: `npm run spec` takes its proofs from there, and not from what a source says.
 */
// oxlint-disable-next-line import/no-default-export -- the runner loads a reporter by its default export
export default class RecordReporter implements Reporter {
  #startedAt = Date.now()

  onTestRunStart(): void {
    this.#startedAt = Date.now()
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly { readonly message: string }[]): void {
    const folder = process.env['FLOTILLA_TEST_RECORD']
    if (folder === undefined) return
    const byProject = Map.groupBy(modules, (module) => module.project.name)
    for (const [project, own] of byProject) {
      const startedAt = new Date(this.#startedAt).toISOString()
      writeProjectRecord(folder, project, {
        startedAt,
        durationMs: Date.now() - this.#startedAt,
        broken: [
          ...own.flatMap((module) => module.errors().map((error) => `${fileOf(module)}: ${error.message}`)),
          ...unhandled.map((error) => error.message),
        ],
        tests: own.flatMap((module) => [...module.children.allTests()].map(recorded)),
      })
    }
  }
}

function recorded(test: TestCase): RecordedTest {
  const { state } = test.result()
  return {
    file: fileOf(test.module),
    name: test.fullName,
    project: test.project.name,
    // One that never came to its end did not pass.
    state: state === 'pending' ? 'failed' : state,
    durationMs: Math.round(test.diagnostic()?.duration ?? 0),
    verifies: [...citedClauses(test)],
  }
}

/** What the test and each group around it cite. */
function citedClauses(test: TestCase): ReadonlySet<string> {
  const cited = new Set(citedBy(test.meta()))
  for (let group = test.parent; group.type === 'suite'; group = group.parent) {
    for (const id of citedBy(group.meta())) cited.add(id)
  }
  return cited
}

function fileOf(module: TestModule): string {
  return module.relativeModuleId
}
