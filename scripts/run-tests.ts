import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { lessonsToProve } from '../tests/coverage-lessons.ts'
import { lessons } from '../tests/requirements/lessons.ts'
import { requirements } from '../tests/requirements.ts'
import { proofsOf, unproved } from '../tests/run-record/proofs.ts'
import { afterSecondTry, filesToTryAgain, secondTryFilesMax } from '../tests/run-record/second-try.ts'
import type { ProjectRecord } from '../tests/run-record/test-record.ts'
import {
  readProjectRecords,
  recordFolder,
  slowestTests,
  writeProjectRecord,
} from '../tests/run-record/test-record.ts'

/**
 * Runs the tests.
 *
 * - `npm test` runs the unit tests, then flows, browser tests, and container tests on a real engine, which it
 *   prepares first. Without an engine the container tests are listed as not run.
 * - `npm run test:long` (`--long`) runs the files of `tests/long-tests.ts`.
 * - `--soak` runs both, with the long proofs at full length.
 * - A file with a failed test runs once more by itself (`--once` omits that). A test that passes only then is
 *   reported, because it depends on the load of the machine.
 * - With FLOTILLA_REQUIRE_ENGINE=1 a missing engine is a failure. After the long tests it is also a failure if
 *   neither this run nor the `npm test` before it proved a clause marked as covered, or a lesson marked as heeded.
 *
 * The last line is `N passed, N failed, N skipped`.
 */
const root = join(import.meta.dirname, '..')
const vitest = join(root, 'node_modules', '.bin', 'vitest')
const soak = process.argv.includes('--soak')
const long = process.argv.includes('--long')
const lanes = { short: soak || !long, long: soak || long }
const noSecondTry = process.argv.includes('--once')
const record = join(root, recordFolder)
const environment = {
  ...process.env,
  FLOTILLA_TEST_RECORD: record,
  ...(soak ? { FLOTILLA_SOAK: '1' } : {}),
}
const mustRunAll = process.env['FLOTILLA_REQUIRE_ENGINE'] === '1'
const slowestShown = 10
const brokenShown = 50
const containerProjects = [
  ...(lanes.short ? ['docker-shared', 'docker'] : []),
  ...(lanes.long ? ['docker-long', 'docker-alone'] : []),
]
const processProjects = [
  ...(lanes.short ? ['unit', 'flows', 'browser'] : []),
  ...(lanes.long ? ['flows-long', 'browser-long'] : []),
]
/** Reasons for the failure of the run; printed at the end, because many readers see only the last lines. */
const broken: string[] = []

const reporters = ['--reporter=default', '--reporter=./tests/run-record/record-reporter.ts']
/** Projects whose test runner failed, with its exit. */
const runnersEnds = new Map<string, string>()
/** Tests that passed only when their file was run again. */
const unsteady: string[] = []

/** Runs a project to its end; the output of a project that runs beside another is printed at its end. */
async function runProject(project: string, beside = false): Promise<void> {
  const vitestArguments = ['run', '--project', project, ...reporters]
  let status: number | null
  if (beside) {
    const done = await runKept(vitest, vitestArguments)
    status = done.status
    console.log(`\n== ${project} tests, run beside the others`)
    process.stdout.write(done.output)
  } else {
    status = await runShown(vitest, vitestArguments)
  }
  if (status !== 0) runnersEnds.set(project, `${project}: the runner ended with ${status ?? 'a signal'}`)
}

/**
 * Installs and starts the engine; prepares what several files need, so that they do not prepare it at the same
 * time.
 */
async function withEngine(): Promise<boolean> {
  const isThere = await prepareEngine()
  // After the engine, because the distribution's package manager installs for one caller at a time.
  await runShown(process.execPath, [join(root, 'tests', 'browser', 'install-chromium.ts')])
  if (!isThere) return false
  // Runs while no other container runs, since these files change what all containers share.
  if (lanes.short) await runProject('docker-shared', true)
  await prepareEngine('--browsers')
  return true
}

/**
 * Runs containers and flows in parallel. Containers wait for small CPU shares and flows for each other, so this
 * halves the time.
 */
async function runShort(): Promise<boolean> {
  console.log('\n== unit tests; beside them the engine is prepared for the container tests')
  const [hasEngine] = await Promise.all([withEngine(), runProject('unit')])
  console.log('\n== flow and security tests')
  await Promise.all([runFlowsAndPages(''), ...(hasEngine ? [runProject('docker', true)] : [])])
  return hasEngine
}

async function runFlowsAndPages(length: '' | '-long'): Promise<void> {
  await runProject(`flows${length}`)
  console.log('\n== tests in a browser')
  await runProject(`browser${length}`)
}

async function runLong(): Promise<boolean> {
  const hasEngine = await withEngine()
  console.log('\n== long flow and security tests')
  await Promise.all([runFlowsAndPages('-long'), ...(hasEngine ? [runProject('docker-long', true)] : [])])
  if (hasEngine) await runProject('docker-alone')
  return hasEngine
}

/** Runs each file with a failure once more, one file at a time, and replaces its result. */
async function tryAgain(): Promise<void> {
  const records = recordsOf([...processProjects, ...containerProjects])
  const again = [...records].map(([project, one]) => ({ project, one, files: filesToTryAgain(one) }))
  const count = again.reduce((sum, { files }) => sum + files.length, 0)
  if (count === 0 || count > secondTryFilesMax) return
  for (const { project, one, files } of again.filter((each) => each.files.length > 0)) {
    console.log(`\n== again, by themselves: ${files.join(', ')}`)
    const folder = join(record, 'second-try')
    const status = await runShown(
      vitest,
      ['run', '--project', project, '--no-file-parallelism', ...reporters, ...files],
      { ...environment, FLOTILLA_TEST_RECORD: folder },
    )
    const second = readProjectRecords(folder).get(project)
    if (second === undefined) continue
    const both = afterSecondTry(one, second, files)
    unsteady.push(...both.unsteady)
    writeProjectRecord(record, project, both.record)
    if (status === 0) runnersEnds.delete(project)
  }
}

async function runShown(
  command: string,
  commandArguments: readonly string[],
  env: NodeJS.ProcessEnv = environment,
): Promise<number | null> {
  return ended(
    spawn(command, commandArguments, {
      cwd: root,
      stdio: ['ignore', 'inherit', 'inherit'],
      env,
    }),
  )
}

/** Runs a command and returns its whole output. */
async function runKept(
  command: string,
  commandArguments: readonly string[],
): Promise<{ readonly status: number | null; readonly output: Buffer }> {
  const running = spawn(command, commandArguments, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: environment,
  })
  const kept: Buffer[] = []
  running.stdout.on('data', (chunk: Buffer) => kept.push(chunk))
  running.stderr.on('data', (chunk: Buffer) => kept.push(chunk))
  const status = await ended(running)
  return { status, output: Buffer.concat(kept) }
}

async function ended(running: ChildProcess): Promise<number | null> {
  const [status]: unknown[] = await once(running, 'close')
  return typeof status === 'number' ? status : null
}

/** Images are kept while the home that they were built for exists, so this home exists until all tests have run. */
const preparedHome = join(mkdtempSync(join(tmpdir(), 'flotilla-prepare-')), 'home')
const mesh = join(root, 'packages', 'mesh', 'src', 'main.ts')

/**
 * Installs the engine and builds the images beside other work; installation steps are printed at once, between
 * other lines.
 */
async function prepareEngine(...more: readonly string[]): Promise<boolean> {
  return (await runShown(process.execPath, [mesh, 'prepare', ...more, '--home', preparedHome])) === 0
}

async function leavePrepared(): Promise<void> {
  await runShown(process.execPath, [mesh, 'reset', '--home', preparedHome])
  rmSync(dirname(preparedHome), { recursive: true, force: true })
}

function nameContainerTests(): void {
  console.log('\nNo engine could be set up (the reason is above), so these container tests were NOT run:')
  spawnSync(vitest, ['list', '--project', 'docker*'], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: environment,
  })
}

function recordsOf(projects: readonly string[]): ReadonlyMap<string, ProjectRecord> {
  return new Map([...readProjectRecords(record)].filter(([project]) => projects.includes(project)))
}

/** Prints the results of the tests as recorded, and which clauses of the specification they proved. */
function printResults(projects: readonly string[]): void {
  const records = recordsOf(projects)
  for (const project of projects) {
    if (!records.has(project)) broken.push(`${project}: the runner left no record`)
  }
  broken.push(...runnersEnds.values())
  for (const [project, one] of records) broken.push(...one.broken.map((line) => `${project}: ${line}`))
  const tests = [...records.values()].flatMap((one) => one.tests)
  console.log(`\nThe ${slowestShown} slowest tests:`)
  for (const { durationMs, file, name } of slowestTests(tests, slowestShown)) {
    console.log(`  ${(durationMs / 1000).toFixed(1).padStart(7)} s  ${file}  ${name}`)
  }
  if (lanes.long) printProofs()
  else
    console.log('\nWhich clauses are proved is printed by npm run test:long, after the tests that take long.')
  const count = (state: string) => tests.filter((test) => test.state === state).length
  for (const { state, file, name, failure = '' } of tests) {
    if (state === 'failed') broken.push(`failed: ${file}  ${name}\n${failure.replaceAll(/^/gm, '    ')}`)
  }
  if (unsteady.length > 0) console.error('\nPassed only when their file was run again by itself:')
  for (const line of unsteady.slice(0, brokenShown)) console.error(line.replaceAll(/^/gm, '  '))
  if (broken.length > 0) console.error('\nNot green:')
  for (const line of broken.slice(0, brokenShown)) console.error(`  ${line}`)
  console.log(`\n${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped`)
}

/** Prints what both commands proved: the record of `npm test` is kept for the long tests after it. */
function printProofs(): void {
  const tests = [...readProjectRecords(record).values()].flatMap((one) => one.tests)
  printProved('clauses that are held or decided otherwise', proofsOf(requirements, tests))
  printProved('heeded lessons', proofsOf(lessonsToProve(lessons), tests))
}

function printProved(what: string, proofs: ReturnType<typeof proofsOf>): void {
  const missing = unproved(proofs)
  console.log(
    `\n${proofs.length - missing.length} of ${proofs.length} ${what} proved by this run and npm test`,
  )
  for (const sentence of missing) console.log(`  ${sentence}`)
  if (missing.length > 0 && mustRunAll) broken.push(`${missing.length} ${what} were not proved`)
}

if (lanes.short) rmSync(record, { recursive: true, force: true })
for (const project of [...processProjects, ...containerProjects]) {
  rmSync(join(record, `${project}.json`), { force: true })
}
const engines: boolean[] = []
if (lanes.short) engines.push(await runShort())
if (lanes.long) engines.push(await runLong())
const hasEngine = engines.every(Boolean)
if (!hasEngine) {
  nameContainerTests()
  if (mustRunAll)
    broken.push('the container tests were not run, and FLOTILLA_REQUIRE_ENGINE=1 wants them run')
}
if (!noSecondTry) await tryAgain()
await leavePrepared()
printResults([...processProjects, ...(hasEngine ? containerProjects : [])])
process.exit(broken.length > 0 ? 1 : 0)
