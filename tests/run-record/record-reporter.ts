import process from 'node:process'
import { stripVTControlCharacters } from 'node:util'
import type { SerializedError, TestError } from 'vitest'
import type { Reporter, TestCase, TestModule, TestSuite } from 'vitest/node'
import { citedBy } from '../verifies.ts'
import { writeProjectRecord } from './test-record.ts'
import type { RecordedTest } from './test-record.ts'

/** Enough of an error for its sentence and the first lines of where it came from. */
const stackChars = 800
const framesShown = 3

/**
 * Writes the result of each test, with the clauses and lessons that it cites, into the folder of
 * FLOTILLA_TEST_RECORD. `npm run spec` reads its proofs there, and not in the sources.
 */
// oxlint-disable-next-line import/no-default-export -- the runner loads a reporter by its default export
export default class RecordReporter implements Reporter {
  #startedAt = Date.now()

  onTestRunStart(): void {
    this.#startedAt = Date.now()
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const folder = process.env['FLOTILLA_TEST_RECORD']
    if (folder === undefined) return
    const byProject = Map.groupBy(modules, (module) => module.project.name)
    for (const [project, own] of byProject) {
      const startedAt = new Date(this.#startedAt).toISOString()
      writeProjectRecord(folder, project, {
        startedAt,
        durationMs: Date.now() - this.#startedAt,
        broken: [
          ...own.flatMap((module) => brokenParts(module)),
          ...unhandled.map(
            (error) => `an error that no test owns: ${(error.stack ?? error.message).slice(0, stackChars)}`,
          ),
        ],
        tests: own.flatMap((module) => [...module.children.allTests()].map(recorded)),
      })
    }
  }
}

function recorded(test: TestCase): RecordedTest {
  const { state, errors } = test.result()
  const failure = errors?.map(whatItMet).join('\n')
  return {
    file: fileOf(test.module),
    name: test.fullName,
    project: test.project.name,
    // One that never came to its end did not pass.
    state: state === 'pending' ? 'failed' : state,
    durationMs: Math.round(test.diagnostic()?.duration ?? 0),
    verifies: [...allCited(test)],
    ...(failure === undefined ? {} : { failure }),
  }
}

/** Its sentence, what it expected and had, and where in this repository. */
function whatItMet({ message, diff = '', stack = '' }: TestError): string {
  const frames = stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line) && !line.includes('node_modules') && !line.includes('node:'))
  return [message.slice(0, stackChars), diff.slice(0, stackChars), ...frames.slice(0, framesShown)]
    .filter((part) => part !== '')
    .map((part) => stripVTControlCharacters(part))
    .join('\n')
}

/** The file and its groups that failed outside of a test: collected with an error, or in a hook for all tests. */
function brokenParts(module: TestModule): readonly string[] {
  const parts: readonly (TestModule | TestSuite)[] = [module, ...module.children.allSuites()]
  return parts.flatMap((part) => {
    const name = part.type === 'suite' ? `${fileOf(module)}: ${part.fullName}` : fileOf(module)
    return part.errors().map((error) => `${name}: ${error.message}`)
  })
}

/** What the test and each group around it cite. */
function allCited(test: TestCase): ReadonlySet<string> {
  const cited = new Set(citedBy(test.meta()))
  for (let group = test.parent; group.type === 'suite'; group = group.parent) {
    for (const id of citedBy(group.meta())) cited.add(id)
  }
  return cited
}

function fileOf(module: TestModule): string {
  return module.relativeModuleId
}
