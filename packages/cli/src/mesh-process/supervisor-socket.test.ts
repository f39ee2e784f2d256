import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '@flotilla/client/system-clock'
import type { Environment } from '../environment.ts'
import { locateMesh } from './locate-mesh.ts'
import { alreadySupervised } from './other-supervisor.ts'
import { superviseWord } from './supervise-word.ts'
import { answerAsSupervisor, askSupervisor, fixedNamesOf } from './supervisor-socket.ts'

/** A user of the machine who is neither root nor the owner of the home. */
const strangerUid = 65_534

function aHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'flotilla-home-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  return home
}

async function running(code: string, words: readonly string[], uid?: number): Promise<number> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', code, ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: import.meta.dirname,
    ...(uid === undefined ? {} : { uid, gid: uid, cwd: '/' }),
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  return child.pid ?? 0
}

const state = (pid: number) => ({
  pid,
  mesh_pid: pid,
  restarts: 0,
  last_exit: null,
  last_exit_at: null,
  next_start_at: null,
})

/**
 * Starts a process that answers on the home's socket as its supervisor does, and starts its mesh after
 * `meshAfterMs`.
 */
const supervisor = (home: string, meshAfterMs = 0): Promise<number> =>
  running(
    `import { answerAsSupervisor } from './supervisor-socket.ts'
    const state = ${JSON.stringify(state(0))}
    setTimeout(() => (state.mesh_pid = process.pid), ${meshAfterMs})
    console.log(await answerAsSupervisor(${JSON.stringify(home)}, () => ({ ...state, pid: process.pid })))
    setInterval(() => {}, 1000)`,
    [superviseWord, home],
  )

/** Starts a process of another user that takes socket names of the home's supervisor and answers with `pid`. */
async function stranger(home: string, names: readonly number[], pid: number): Promise<number> {
  const all = await fixedNamesOf(home)
  return running(
    `import { createServer } from 'node:net'
    const names = JSON.parse(process.argv[1])
    for (const name of names) {
      const server = createServer((socket) => socket.end(${JSON.stringify(`${JSON.stringify(state(pid))}\n`)}))
      await new Promise((resolve) => server.listen('\\0' + name, resolve))
    }
    console.log('held')`,
    [JSON.stringify(names.map((index) => all[index]?.slice(1))), superviseWord],
    strangerUid,
  )
}

describe.skipIf(process.getuid?.() !== 0)('another user who takes names of the supervisor', () => {
  test('another user who takes names of the supervisor is not believed, and keeps no supervisor from its home', async () => {
    const home = aHome()
    const other = await supervisor(aHome())
    await stranger(home, [0, 1], other)
    expect(await askSupervisor(home)).toBeNull()
    const own = await supervisor(home)
    expect(await askSupervisor(home)).toMatchObject({ pid: own })
    expect(await answerAsSupervisor(home, () => state(process.pid))).toBe(false)
  })

  test('another user who takes all names that can be known in advance keeps no supervisor from its home', async () => {
    const home = aHome()
    const all = await fixedNamesOf(home)
    await stranger(home, [...all.keys()], process.pid)
    expect(await askSupervisor(home)).toBeNull()
    const own = await supervisor(home)
    expect(await askSupervisor(home)).toMatchObject({ pid: own })
    expect(await answerAsSupervisor(home, () => state(process.pid))).toBe(false)
    process.kill(own, 'SIGKILL')
    await expect.poll(() => askSupervisor(home)).toBeNull()
  })

  test('another user who takes names of the supervisor gives no second supervisor a way in when the name is free again', async () => {
    const home = aHome()
    const holder = await stranger(home, [0], process.pid)
    const own = await supervisor(home)
    process.kill(holder, 'SIGKILL')
    const [first = ''] = await fixedNamesOf(home)
    await expect.poll(() => readFileSync('/proc/net/unix', 'utf8').includes(first.slice(1))).toBe(false)
    expect(await askSupervisor(home)).toMatchObject({ pid: own })
    expect(await answerAsSupervisor(home, () => state(process.pid))).toBe(false)
  })
})

test('a second start waits for the mesh of a supervisor that takes its time, and names its process', async () => {
  const home = aHome()
  const own = await supervisor(home, 3000)
  expect(await alreadySupervised(home, systemClock)).toMatchObject({
    code: 'mesh-already-runs',
    detail: `A mesh is already being started for ${home} by process ${own}.`,
  })
  process.kill(own, 'SIGKILL')
  await expect.poll(() => askSupervisor(home)).toBeNull()
  const { detail } = await alreadySupervised(home, systemClock)
  expect(detail).toContain('by a supervisor that restarts it')
})

test('a supervisor that lives is found, a second is refused, and one that was killed is gone', async () => {
  const home = aHome()
  const own = await supervisor(home)
  expect(await askSupervisor(home)).toMatchObject({ pid: own })
  expect(await answerAsSupervisor(home, () => state(process.pid))).toBe(false)
  process.kill(own, 'SIGKILL')
  await expect.poll(() => askSupervisor(home)).toBeNull()
})

test('a command with a port names the supervisor while it starts the mesh, and uses the port without one', async () => {
  const home = aHome()
  const environment = { command: 'flotilla', url: undefined, port: undefined } as Environment
  const locate = () => locateMesh({ home, homeOnLine: true, port: 1 }, environment)
  expect(await locate()).toBe('http://127.0.0.1:1')
  const own = await supervisor(home)
  await expect(locate()).rejects.toMatchObject({
    code: 'mesh-not-running',
    message: expect.stringContaining(`Its supervisor (process ${own})`) as unknown,
  })
})
