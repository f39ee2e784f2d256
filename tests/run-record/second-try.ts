import type { ProjectRecord, RecordedTest } from './test-record.ts'

/**
 * Most files that are run a second time. More failures than that are not caused by a busy machine, and a run with
 * so many should end soon.
 */
export const secondTryFilesMax = 8

/** The files of a project in which something failed, or that could not be collected. Pure. */
export function filesToTryAgain(record: ProjectRecord): readonly string[] {
  const failed = record.tests.filter(({ state }) => state === 'failed').map(({ file }) => file)
  return [...new Set([...failed, ...record.broken.flatMap(fileNamedIn)])].toSorted()
}

/** An error that no test and no file owns names none, and cannot be tried again. */
function fileNamedIn(broken: string): readonly string[] {
  const file = /^(?<file>\S+\.test\.ts): /.exec(broken)?.groups?.['file']
  return file === undefined ? [] : [file]
}

/**
 * Returns the result after both tries, and a line for each test or group that passed only in the second try, with
 * its first error.
 */
export interface TwoTries {
  readonly record: ProjectRecord
  readonly unsteady: readonly string[]
}

/**
 * For a file that was run again the second result counts, as a whole; a test that is missing from the second run or
 * did not run in it keeps its first result. Pure.
 */
export function afterSecondTry(
  first: ProjectRecord,
  second: ProjectRecord,
  files: readonly string[],
): TwoTries {
  const again = new Map(second.tests.map((test) => [keyOf(test), test]))
  const unsteady: string[] = []
  const tests = first.tests.map((test) => {
    const later = files.includes(test.file) ? again.get(keyOf(test)) : undefined
    if (later === undefined) return test
    again.delete(keyOf(test))
    if (test.state === 'failed' && later.state === 'passed') {
      unsteady.push(`${test.file}  ${test.name}\n${(test.failure ?? '').replaceAll(/^/gm, '  ')}`)
    }
    return later
  })
  const gone = first.broken.filter((line) => fileNamedIn(line).some((file) => files.includes(file)))
  unsteady.push(...gone.filter((line) => !second.broken.includes(line)))
  // A file that could not be collected at first had no tests then.
  tests.push(...again.values())
  return {
    record: {
      ...first,
      broken: [...first.broken.filter((line) => !gone.includes(line)), ...second.broken],
      tests,
    },
    unsteady,
  }
}

function keyOf({ file, name }: RecordedTest): string {
  return `${file}\n${name}`
}
