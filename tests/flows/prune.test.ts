import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { flotilla } from '../support/flotilla-command.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { aCassette, says } from '../support/cassettes.ts'

let mesh: MeshProcess
let caches: string
const dayMs = 24 * 3_600_000

beforeAll(async () => {
  ;[mesh, caches] = await Promise.all([
    startMesh({ cassettes: { first: aCassette({ when: '.', turns: [says('Yes.')] }) } }),
    mkdtemp(join(tmpdir(), 'flotilla-caches-')),
  ])
  for (const id of ['clerk', 'archived']) {
    await mesh.createWorker(id)
    await mesh.ask('Hello', { agent: id })
  }
  await prune('archive', 'archived')
})
afterAll(async () => {
  await mesh?.stop()
  await rm(caches, { recursive: true, force: true })
})

/** Runs without an engine, because this machine's engine contains other data. */
function prune(...words: readonly string[]) {
  const environment = { XDG_CACHE_HOME: caches, FLOTILLA_ENGINE_SOCKET: join(caches, 'none.sock') }
  return flotilla({ home: mesh.home, environment }, ...words)
}

async function leave(path: string, ageMs = 30 * dayMs): Promise<string> {
  await mkdir(join(path, '..'), { recursive: true })
  await writeFile(path, Buffer.alloc(10_000))
  const then = new Date(Date.now() - ageMs)
  await utimes(path, then, then)
  for (const above of ['..', '../..']) await utimes(join(path, above), then, then)
  return path
}

const hex = (agentId: string) => Buffer.from(agentId, 'utf8').toString('hex')

it('flotilla prune shows what is left over, asks, takes just that away beside a mesh that runs, and counts the bytes', async () => {
  const data = join(mesh.home, 'data')
  const gone = [
    await leave(join(data, 'agents', hex('deleted-long-ago'), 'data', 'notes.txt')),
    await leave(join(data, 'mesh.db.before-1')),
    await leave(join(mesh.home, 'run', 'backup-cut', 'mesh.db')),
    await leave(join(data, 'mesh.log.1')),
    await leave(join(caches, 'flotilla', 'compiled', 'mesh-0123456789abcdef', 'v26', 'a.blob')),
    await leave(join(caches, 'flotilla', 'images', 'agent-0123456789abcdef', 'agent.cjs')),
  ]
  const stays = [
    await leave(join(data, 'mesh.db.before-2')),
    await leave(join(caches, 'flotilla', 'compiled', 'mesh-fedcba9876543210', 'v26', 'a.blob'), 0),
    await leave(join(caches, 'flotilla', 'images', 'used', 'somebody.json')),
    await leave(join(mesh.home, 'notes-of-mine.txt')),
    mesh.dataOf('clerk'),
    mesh.dataOf('archived'),
  ]
  const names = (await readdir(join(data, 'agents'))).length

  const plan = await prune('prune', '--dry-run')
  expect(plan.code, plan.err).toBe(0)
  expect(plan.out).toMatch(/^6 in all, \d/m)
  expect(plan.out).toContain('No container engine answers')
  const asked = await prune('prune')
  expect([asked.code, asked.err]).toEqual([2, expect.stringContaining('Add --yes')])
  expect([...gone, ...stays].filter((path) => !existsSync(path))).toEqual([])

  const done = await prune('prune', '--yes', '--json')
  expect(done.code, done.err).toBe(0)
  const said = JSON.parse(done.out) as { bytes: number; things: { gone: boolean; bytes: number }[] }
  expect(said.things.map((thing) => thing.gone)).toEqual(Array.from({ length: 6 }, () => true))
  expect(said.bytes).toBe(said.things.reduce((sum, { bytes }) => sum + bytes, 0))
  expect(said.bytes).toBeGreaterThanOrEqual(60_000)
  expect(gone.filter((path) => existsSync(path))).toEqual([])
  expect(stays.filter((path) => !existsSync(path))).toEqual([])
  expect(await readdir(join(data, 'agents'))).toHaveLength(names - 1)
  expect((await mesh.ask('Still there?', { agent: 'clerk' })).outcome).toMatchObject({ text: 'Yes.' })
  expect((await prune('prune', '--yes')).out).toContain('There were no leftovers.')
})

it('flotilla prune takes what other homes left only out of an engine that answers', async () => {
  const { code, err } = await prune('prune', '--lost', '0123abcd', '--yes')
  expect([code, err]).toEqual([1, expect.stringContaining('no container engine answers')])
})

it('prune deletes nothing of a home that was never started and whose agents are unknown', async () => {
  const home = join(caches, 'new-home')
  const left = await leave(join(home, 'data', 'agents', hex('someone'), 'data', 'notes.txt'))
  const environment = { XDG_CACHE_HOME: caches, FLOTILLA_ENGINE_SOCKET: join(caches, 'none.sock') }
  const { out } = await flotilla({ home, environment }, 'prune', '--yes')
  expect(out).toContain('There were no leftovers.')
  expect(existsSync(left)).toBe(true)
})
