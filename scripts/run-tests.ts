import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * `npm test`: unit, flows, security, then the container tests on a real engine, which is set up first. With
 * `--soak` the long proofs run at full length. Where no engine can run, the container tests are named and not
 * run; FLOTILLA_REQUIRE_ENGINE=1 makes that a failure. Ends with `N passed, N failed, N skipped`.
 */
const root = join(import.meta.dirname, '..')
const vitest = join(root, 'node_modules', '.bin', 'vitest')
const soak = process.argv.includes('--soak')
const environment = { ...process.env, ...(soak ? { FLOTILLA_SOAK: '1' } : {}) }
const reports = mkdtempSync(join(tmpdir(), 'flotilla-tests-'))

interface Totals {
  passed: number
  failed: number
  skipped: number
}

const totals: Totals = { passed: 0, failed: 0, skipped: 0 }
let broken = false

/** Runs a project to its end; one that runs beside another keeps its output until then. */
async function runProject(project: string, beside = false): Promise<void> {
  const report = join(reports, `${project}.json`)
  const vitestOptions = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  const running = spawn(vitest, ['run', '--project', project, ...vitestOptions], {
    cwd: root,
    stdio: beside ? ['ignore', 'pipe', 'pipe'] : ['ignore', 'inherit', 'inherit'],
    env: environment,
  })
  const kept: Buffer[] = []
  running.stdout?.on('data', (chunk: Buffer) => kept.push(chunk))
  running.stderr?.on('data', (chunk: Buffer) => kept.push(chunk))
  const [status] = await once(running, 'close')
  if (beside) console.log(`\n== ${project} tests, run beside the others`)
  process.stdout.write(Buffer.concat(kept))
  if (status !== 0) broken = true
  try {
    const parsed: unknown = JSON.parse(readFileSync(report, 'utf8'))
    totals.passed += count(parsed, 'numPassedTests')
    totals.failed += count(parsed, 'numFailedTests')
    totals.skipped += count(parsed, 'numPendingTests')
  } catch (error) {
    console.error(`${project}: the runner left no report`, error)
    broken = true
  }
}

function count(report: unknown, field: string): number {
  return typeof report === 'object' && report !== null && field in report
    ? Number((report as Record<string, unknown>)[field])
    : 0
}

function prepareEngine(): boolean {
  console.log('\n== engine and agent image for the container tests')
  const home = mkdtempSync(join(tmpdir(), 'flotilla-prepare-'))
  const ask = (command: string) =>
    spawnSync(process.execPath, [join(root, 'packages', 'mesh', 'src', 'main.ts'), command, '--home', home], {
      cwd: root,
      stdio: ['ignore', 'inherit', 'inherit'],
      env: environment,
    })
  const done = ask('prepare')
  // The image stays for the tests; the network and its rules were this home's.
  ask('reset')
  rmSync(home, { recursive: true, force: true })
  return done.status === 0
}

function nameContainerTests(): void {
  console.log('\nNo engine could be set up (the reason stands above), so these container tests were NOT run:')
  spawnSync(vitest, ['list', '--project', 'docker'], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: environment,
  })
}

console.log('\n== unit tests')
await runProject('unit')
const hasEngine = prepareEngine()
console.log('\n== flow and security tests')
// Containers wait for their small shares of a processor, and flows for each other: side by side they take half the time.
await Promise.all([runProject('flows'), ...(hasEngine ? [runProject('docker', true)] : [])])
if (!hasEngine) {
  nameContainerTests()
  if (process.env['FLOTILLA_REQUIRE_ENGINE'] === '1') {
    console.error('FLOTILLA_REQUIRE_ENGINE=1 wants them run.')
    broken = true
  }
}
rmSync(reports, { recursive: true, force: true })

console.log(`\n${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`)
process.exit(broken || totals.failed > 0 ? 1 : 0)
