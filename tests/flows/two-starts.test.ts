import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { text } from 'node:stream/consumers'
import { expect, it, onTestFinished } from 'vitest'
import { askSupervisor } from '../../packages/cli/src/mesh-process/supervisor-socket.ts'
import { heldPort } from '../support/held-port.ts'
import { eventually } from '../support/eventually.ts'
import { flotilla as ask } from '../support/flotilla-command.ts'
import { cliProgram } from '../support/programs.ts'

interface End {
  readonly code: number
  readonly out: string
  readonly err: string
}

interface Started {
  readonly pid: number
  readonly ended: Promise<End>
  ask(signal: NodeJS.Signals): void
}

function flotilla(home: string, ...words: readonly string[]): Started {
  const child = spawn(process.execPath, [cliProgram, ...words, '--home', home], {
    env: { PATH: process.env['PATH'] ?? '', HOME: home },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const code = new Promise<number>((resolve) => child.once('exit', (exit) => resolve(exit ?? -1)))
  const ended = Promise.all([code, text(child.stdout), text(child.stderr)])
  return {
    pid: child.pid ?? 0,
    ended: ended.then(([exit, out, err]) => ({ code: exit, out, err })),
    ask: (signal) => void child.kill(signal),
  }
}

/** A home that does not exist yet, and a function that starts a mesh on it. */
async function aHome() {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-two-'))
  const home = join(folder, 'home')
  const port = `${await heldPort()}`
  onTestFinished(async () => {
    await ask({ home }, 'stop')
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  const start = (...more: string[]) =>
    flotilla(home, 'start', '--runtime', 'process', '--port', port, ...more)
  const mesh = async () =>
    JSON.parse(await readFile(join(home, 'data', 'mesh.json'), 'utf8')) as { pid: number }
  return { folder, home, start, mesh }
}

const says = 'The mesh answers on'

const rounds = process.env['FLOTILLA_SOAK'] === '1' ? [1, 2, 3] : [1]

it.each(rounds)('exactly one of two detached starts on a new home wins, round %i', async () => {
  const { home, start, mesh } = await aHome()
  const ends: readonly [End, End] = await Promise.all([start('-d').ended, start('-d').ended])
  expect(
    ends.map(({ code }) => code).toSorted((left, right) => left - right),
    JSON.stringify(ends),
  ).toEqual([0, 1])
  const [won, lost] = ends[0].code === 0 ? ends : [ends[1], ends[0]]
  const { pid } = await mesh()
  expect(won.out).toContain(`${says} http`)
  expect(won.err).not.toContain('already')
  expect(lost.out).not.toContain(says)
  expect(lost.err).toMatch(new RegExp(`already (being started .*by|runs .*) ?process ${pid}`))
  // The second start stopped before its mesh opened any API.
  expect(lost.err).not.toMatch(/Opening the agent API/)
  expect(await ask({ home }, 'status')).toMatchObject({ code: 0 })

  // A start does not disturb a running mesh, whatever path names the home.
  const link = `${home}-link`
  await symlink(home, link)
  const third = await flotilla(link, 'start', '-d', '--runtime', 'process').ended
  expect(third.code).toBe(1)
  expect(third.err).toContain(`process ${pid}`)
  expect(await mesh()).toMatchObject({ pid })
})

it('a start during another start of the mesh is answered with the id of the starting process', async () => {
  const { home, start, mesh } = await aHome()
  const first = start('-d')
  await eventually('a supervisor has taken the home', () => askSupervisor(home))
  const second = await start('-d').ended
  const { code, err } = await first.ended
  expect(code, err).toBe(0)
  expect(second.code).toBe(1)
  expect(second.err).toMatch(
    new RegExp(`already (being started .*by|runs .*) ?process ${(await mesh()).pid}`),
  )
})

it('exactly one of two foreground starts wins, and the other disturbs nothing', async () => {
  const { home, start, mesh } = await aHome()
  const both = [start(), start()]
  const first = await Promise.race(both.map(async (one) => ({ one, end: await one.ended })))
  expect(first.end.code, first.end.err).toBe(1)
  expect(first.end.err).toMatch(/already (being started|runs)/)
  const winner = both.find((one) => one !== first.one)
  const { pid } = await eventually('the other is ready', () => mesh().catch(() => null), 60_000)
  expect(first.end.err).toContain(`process ${pid}`)
  expect(await ask({ home }, 'status')).toMatchObject({ code: 0 })
  winner?.ask('SIGTERM')
  const end = await winner?.ended
  expect(end?.out).toContain(says)
  expect(end?.err).not.toContain('already')
})
