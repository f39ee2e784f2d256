import { cp, mkdtemp } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { endsAfterMs, leaseMs } from '../../packages/foundation/src/lease/index.ts'
import { aCassette } from '../support/cassettes.ts'
import { openMesh, startMesh, type MeshProcess } from '../support/mesh-process.ts'
import { patient } from '../support/patience.ts'
import { voyageCassette } from '../support/voyage-cassette.ts'
import { clusterOfThisRun } from './cluster-lane.ts'
import { storageClass } from './cluster/controllers.ts'
import { agentImage } from './cluster/images.ts'
import { fabric } from './cluster/layout.ts'
import { run } from './cluster/run.ts'
import { until } from './cluster/until.ts'
import { giveMeshRights } from './mesh-rights.ts'

/** Two machines with the same home, as after a disk was copied, or after a node was wrongly considered lost. */
const { mesh: asMesh } = clusterOfThisRun()
const secondAddress = '10.90.0.2'
const optionsAt = (address: string) => ({
  runtime: 'kubernetes' as const,
  cassettes: { fleet: aCassette(...voyageCassette.tracks) },
  settings: { data_limit_mb: 64 },
  environment: {
    KUBECONFIG: asMesh.kubeconfig,
    FLOTILLA_KUBERNETES_IMAGE: agentImage,
    FLOTILLA_KUBERNETES_STORAGE_CLASS: storageClass,
    FLOTILLA_KUBERNETES_ADDRESS: address,
  },
})

let first: MeshProcess
let second: MeshProcess

beforeAll(async () => {
  await giveMeshRights()
  await run('ip', ['addr', 'add', `${secondAddress}/${fabric.prefix}`, 'dev', fabric.bridge])
  first = await startMesh(optionsAt(fabric.address))
  await first.createWorker('clerk')
  const home = await mkdtemp(join(tmpdir(), 'flotilla-second-'))
  await cp(first.home, home, { recursive: true })
  second = openMesh(home, optionsAt(secondAddress))
}, patient(300_000))
afterAll(async () => {
  await second?.stop()
  await first?.stop()
}, patient(120_000))

it(
  'a second mesh of a home is rejected while the first runs, however they are distinguished',
  async () => {
    const { code, lines } = await second.command('serve')
    expect(code).toBe(1)
    const told = JSON.stringify(lines)
    expect(told).toContain('home-in-use')
    expect(told).toContain('has the lease')
    // A reset is refused, too, so the second mesh cannot delete what both use.
    const wiped = await second.command('reset')
    expect(wiped.code).toBe(1)
    expect(JSON.stringify(wiped.lines)).toContain('has the lease')
    expect(existsSync(second.home)).toBe(true)
    const answered = await first.invoke('clerk', 'run_command', { command: 'echo still here' })
    expect(JSON.stringify(answered.outcome)).toContain('still here')
  },
  patient(240_000),
)

it(
  'the lease of a home lets the second work once the first was halted for long enough, which ends as it wakes up',
  async () => {
    const { pid } = first
    process.kill(pid, 'SIGSTOP')
    const startedAt = performance.now()
    await second.restart()
    expect(performance.now() - startedAt).toBeGreaterThan(leaseMs - endsAfterMs)
    const before = first.log()
    process.kill(pid, 'SIGCONT')
    await until(async () => !existsSync(`/proc/${pid}`), patient(10_000), 'the first has ended')
    // The first mesh logged nothing about readiness after it was resumed: it ended itself.
    expect(first.log().slice(before.length)).not.toContain('"ready"')
    const answered = await second.invoke('clerk', 'run_command', { command: 'echo the second speaks' })
    expect(JSON.stringify(answered.outcome)).toContain('the second speaks')
  },
  patient(300_000),
)

it(
  'the lease of a home lets the first begin again at once where the second was stopped',
  async () => {
    await second.terminate()
    const startedAt = performance.now()
    await first.restart()
    expect(first.told().some(({ progress }) => String(progress).includes('until the lease'))).toBe(false)
    expect(performance.now() - startedAt).toBeLessThan(patient(120_000))
  },
  patient(300_000),
)
