import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { expect, onTestFinished, test } from 'vitest'
import { logMaxBytes } from '../../packages/foundation/src/platform/bound-log.ts'
import { isAlive, readAllRecords } from '../../packages/fleet/src/sandbox/process/process-record.ts'
import { meshToStop } from '../../packages/cli/src/mesh-process/stop-mesh.ts'
import { askSupervisor } from '../../packages/cli/src/mesh-process/supervisor-socket.ts'
import { aCassette, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { heldPort } from '../support/held-port.ts'
import { flotilla, flotillaWith } from '../support/flotilla-command.ts'
import { meshCalls } from '../support/mesh-calls.ts'
import type { MeshCalls } from '../support/mesh-calls.ts'
import { canMount, mountAt } from '../support/small-disk.ts'
import type { SmallDisk } from '../support/small-disk.ts'

/** A file in memory grows by blocks of this size, in bytes. */
const blockBytes = 4096

interface Fleet extends MeshCalls {
  readonly home: string
  readonly flotilla: (...words: readonly string[]) => ReturnType<typeof flotillaWith>
  /** Starts the mesh in the background, always on the same port. */
  start(): ReturnType<typeof flotillaWith>
  /** Process id of the mesh that answers now; 0 if none does. */
  meshPid(): Promise<number>
}

/**
 * A fleet in the background, as `flotilla start -d` leaves it; with `sizeMb`, its home is on a disk of that size.
 */
async function aFleet(
  sizeMb?: number,
  environment: Readonly<Record<string, string>> = {},
): Promise<{ fleet: Fleet; disk: SmallDisk | null }> {
  const home = mkdtempSync(join(tmpdir(), 'flotilla-flow-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }))
  const disk = sizeMb === undefined ? null : mountAt(home, { sizeMb })
  if (disk !== null) onTestFinished(disk.unmount)
  for (const name of ['config', 'cassettes']) mkdirSync(join(home, name))
  writeFileSync(join(home, 'config', 'settings.json'), JSON.stringify({ default_model: 'scripted/calm' }))
  writeFileSync(join(home, 'cassettes', 'calm.json'), JSON.stringify(aCassette({ turns: [says('Yes.')] })))
  const ofHome = (...words: readonly string[]) => flotillaWith({ home, environment }, ...words)
  onTestFinished(async () => {
    await disk?.drain()
    await ofHome('stop')
  })
  const port = `${await heldPort()}`
  const start = () => ofHome('start', '-d', '--runtime', 'process', '--port', port, '--json')
  const started = await start()
  expect(started.code, started.err).toBe(0)
  const url = (): string =>
    (JSON.parse(readFileSync(join(home, 'data', 'mesh.json'), 'utf8')) as { url: string }).url
  const calls = meshCalls(url)
  // A stopped mesh has removed its address file.
  const meshPid = async (): Promise<number> => {
    if (!existsSync(join(home, 'data', 'mesh.json'))) return 0
    return calls.call(meshHumanEndpoints.status, { timeoutMs: 2000 }).then(
      (reply) => Number(reply.json()['pid']),
      () => 0,
    )
  }
  return {
    disk,
    fleet: {
      ...calls,
      home,
      flotilla: ofHome,
      start,
      meshPid,
      get url() {
        return url()
      },
    },
  }
}

test('a mesh in the background that is killed is started again, and status says by what and how often', async () => {
  const { fleet } = await aFleet()
  const before = await fleet.meshPid()
  process.kill(before, 'SIGKILL')
  const after = await eventually('another mesh answers', async () => {
    const pid = await fleet.meshPid()
    return pid !== 0 && pid !== before && pid
  })
  const status = await fleet.flotilla('status', '--json')
  expect(JSON.parse(status.out)).toMatchObject({
    pid: after,
    supervision: { by: 'flotilla', restarts: 1, last_exit: 'killed by SIGKILL' },
  })
  expect((await fleet.flotilla('status')).out).toMatch(
    /Supervisor: flotilla \(process \d+\), restarted 1 times, last exit killed by SIGKILL/,
  )
  expect((await fleet.ask('hello')).outcome?.text).toBe('Yes.')
})

test('a supervisor that the system refuses a process tries again until it gets one', async () => {
  // A quarter of the stack limit bounds arguments and environment; Node throws E2BIG at once, as it throws ENOMEM.
  const { fleet } = await aFleet(undefined, {
    FILLING_A: 'x'.repeat(100_000),
    FILLING_B: 'x'.repeat(100_000),
  })
  const supervisor = String((await askSupervisor(fleet.home))?.pid)
  const limit = (soft: string) => execFileSync('prlimit', ['--pid', supervisor, `--stack=${soft}:unlimited`])
  limit('524288')
  process.kill(await fleet.meshPid(), 'SIGKILL')
  const log = () => readFileSync(join(fleet.home, 'data', 'mesh.log'), 'utf8')
  await eventually('two starts were refused', async () => log().split('could not be started').length > 2)
  limit('8388608')
  await eventually('another mesh answers', async () => (await fleet.meshPid()) !== 0)
  expect((await fleet.ask('hello')).outcome?.text).toBe('Yes.')
})

test('the log of a mesh in the background is bounded while the mesh runs, and nothing of it is lost', async () => {
  const { fleet } = await aFleet()
  const path = join(fleet.home, 'data', 'mesh.log')
  const first = readFileSync(path, 'utf8').split('\n')[0] ?? ''
  expect(first).toContain('"msg"')
  truncateSync(path, logMaxBytes + 1)
  await eventually('the log was moved', () => existsSync(`${path}.1`))
  expect(readFileSync(`${path}.1`).subarray(0, first.length).toString()).toBe(first)
  const before = await fleet.meshPid()
  process.kill(before, 'SIGKILL')
  await eventually('another mesh answers', async () => ![0, before].includes(await fleet.meshPid()))
  // The mesh answers its control API before it says that it is ready.
  const whole = await eventually('the log says that the new mesh is ready', () => {
    const text = readFileSync(path, 'utf8')
    return /killed by SIGKILL.*the mesh is ready/s.test(text) && text
  })
  const lines = whole.split('\n').filter((line) => line !== '')
  expect(lines.filter((line) => !line.startsWith('{'))).toEqual([])
})

test('a start that the system refuses at once is reported as a problem', async () => {
  const home = mkdtempSync(join(tmpdir(), 'flotilla-flow-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }))
  const environment = { FILLING: 'x'.repeat(200_000) }
  const started = await flotilla({ home, environment }, 'start', '-d', '--runtime', 'process')
  expect(started.err).toMatch(/The system refused to start the process of the mesh: .*E2BIG/)
})

test('flotilla stop ends mesh and supervisor, also while the mesh is about to be started again', async () => {
  const { fleet } = await aFleet()
  process.kill(await fleet.meshPid(), 'SIGKILL')
  await eventually('the supervisor knows', async () => (await askSupervisor(fleet.home))?.mesh_pid === 0)
  // The supervisor may have started it again by then: both states name the last exit.
  const status = await fleet.flotilla('status')
  expect(`${status.out}${status.err}`).toMatch(/killed by SIGKILL/)
  expect((await fleet.flotilla('start', '-d', '--runtime', 'process')).err).toMatch(
    /its supervisor|already runs/,
  )
  const stopped = await fleet.flotilla('stop', '--json')
  expect(JSON.parse(stopped.out)).toMatchObject({ stopped: true })
  expect(await askSupervisor(fleet.home)).toBeNull()
  expect(await fleet.meshPid()).toBe(0)
})

test('flotilla stop ends the agents of a mesh that has crashed with its supervisor', async () => {
  const { fleet } = await aFleet()
  await fleet.ask('hello')
  const agents = async () => {
    const records = await readAllRecords(join(fleet.home, 'data', 'agents'))
    const alive = await Promise.all(records.map(isAlive))
    return records.flatMap(({ agentId }, index) => (alive[index] ? [agentId] : []))
  }
  const pid = await fleet.meshPid()
  process.kill((await askSupervisor(fleet.home))?.pid ?? 0, 'SIGKILL')
  process.kill(pid, 'SIGKILL')
  await eventually('both are gone', async () => (await meshToStop(fleet.home)) === null)
  expect(await agents()).toEqual(['operator'])
  const stopped = await fleet.flotilla('stop', '--json')
  expect(JSON.parse(stopped.out), stopped.err).toMatchObject({ stopped: false, agents_ended: ['operator'] })
  expect(await agents()).toEqual([])
  expect(JSON.parse((await fleet.flotilla('stop', '--json')).out)).toMatchObject({ agents_ended: [] })
  expect((await fleet.start()).code).toBe(0)
})

test('a mesh that is asked to end, or whose settings only an owner can repair, is not started again', async () => {
  const { fleet } = await aFleet()
  process.kill(await fleet.meshPid(), 'SIGTERM')
  await eventually('its supervisor has ended', async () => (await askSupervisor(fleet.home)) === null)
  expect((await fleet.start()).code).toBe(0)
  await writeFile(join(fleet.home, '.env'), 'FLOTILLA_LOG_LEVEL=shouting\n')
  process.kill(await fleet.meshPid(), 'SIGKILL')
  await eventually('its supervisor has ended', async () => (await askSupervisor(fleet.home)) === null)
  expect(readFileSync(join(fleet.home, 'data', 'mesh.log'), 'utf8')).toContain('exit code 78')
})

test('the mesh outlives its supervisor, and no second one comes to the home', async () => {
  const { fleet } = await aFleet()
  const pid = await fleet.meshPid()
  process.kill((await askSupervisor(fleet.home))?.pid ?? 0, 'SIGKILL')
  await eventually('it is gone', async () => (await askSupervisor(fleet.home)) === null)
  expect(await fleet.meshPid()).toBe(pid)
  expect((await fleet.flotilla('status')).out).toContain('Supervisor: none')
  expect((await fleet.flotilla('start', '-d', '--runtime', 'process')).err).toContain('already runs')
  expect(await fleet.meshPid()).toBe(pid)
})

test.skipIf(!canMount)(
  'home, log and all on a full disk: the mesh lives, and works again once there is room, also after a kill',
  async () => {
    const { fleet, disk } = await aFleet(96)
    if (disk === null) throw new Error('no disk')
    const pid = await fleet.meshPid()
    disk.fill()
    const refused = await fleet.call(meshHumanEndpoints.chat, {
      params: { id: 'operator' },
      body: { message: 'hello', session: 's' },
    })
    expect(refused.status).toBe(507)
    expect(await fleet.meshPid()).toBe(pid)
    await disk.drain()
    await eventually('it is ready', async () => (await fleet.call(meshHumanEndpoints.readyz)).status === 200)
    expect((await fleet.ask('hello')).outcome?.text).toBe('Yes.')
    expect(await fleet.meshPid()).toBe(pid)
    const log = join(fleet.home, 'data', 'mesh.log')
    disk.fill()
    // The last block of the log has room for more lines.
    appendFileSync(log, `${' '.repeat(blockBytes - 1 - (statSync(log).size % blockBytes))}\n`)
    process.kill(pid, 'SIGKILL')
    await eventually(
      'the supervisor knows',
      async () => (await askSupervisor(fleet.home))?.last_exit === 'killed by SIGKILL',
    )
    await disk.drain()
    await eventually('it is ready', async () =>
      fleet.call(meshHumanEndpoints.readyz).then(
        ({ status }) => status === 200,
        () => false,
      ),
    )
    expect((await fleet.ask('hello', { session: 'again' })).outcome?.text).toBe('Yes.')
    // The line about the kill found no room.
    const lines = () => readFileSync(log, 'utf8').split('\n')
    await eventually('the supervisor has reported its lost lines', () =>
      lines().some((line) => /"supervisor":true,"dropped":[1-9]\d*,.*no space left/.test(line)),
    )
  },
)
