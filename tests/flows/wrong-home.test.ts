import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { headers } from '@flotilla/protocol/headers'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aCassette, says } from '../support/cassettes.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'

/** Home A, whose mesh has ended, and home B, whose mesh answers on A's port. */
let a: MeshProcess
let b: MeshProcess
let never = ''
let port = ''

beforeAll(async () => {
  const cassettes = { plain: aCassette({ turns: [says('Yes.')] }) }
  a = await startMesh({ cassettes })
  port = new URL(a.url).port
  await a.terminate()
  b = await startMesh({ cassettes, port: Number(port) })
  await b.createWorker('clerk')
  never = await mkdtemp(join(tmpdir(), 'flotilla-never-'))
})
afterAll(async () => {
  await a?.stop()
  await b?.stop()
  await rm(never, { recursive: true, force: true })
})

const stateFileOf = (mesh: MeshProcess) => join(mesh.home, 'data', 'mesh.json')

describe('a command that means home A where the mesh of home B answers', () => {
  it.each([
    ['status'],
    ['put', 'clerk', 'FILE', 'notes.md'],
    ['delete', 'clerk', '--yes'],
    ['chat', 'operator', 'hello'],
    ['chat', 'clerk', 'hello', '--json'],
    ['journal', 'accept'],
    ['events'],
    ['pause'],
  ])(
    'a command that means home A where the mesh of home B answers is refused with both homes named: %s',
    async (...words) => {
      const file = join(never, 'notes.md')
      await writeFile(file, 'mine')
      const before = (await b.call(meshHumanEndpoints.status)).json()
      const given = words.map((word) => (word === 'FILE' ? file : word))
      for (const end of [
        await flotilla({ home: a.home }, ...given, '--port', port),
        await flotilla({ home: b.home }, ...given, '--port', port, '--home', a.home),
      ]) {
        expect(end.code, end.out + end.err).toBe(1)
        expect(end.err).toContain('wrong-home')
        expect(end.err).toContain(a.home)
        expect(end.err).toContain(b.home)
        expect(end.err).toContain('--home')
      }
      const after = (await b.call(meshHumanEndpoints.status)).json()
      expect(after['runs']).toEqual(before['runs'])
      expect((after['agents'] as { id: string }[]).map(({ id }) => id).toSorted()).toEqual([
        'clerk',
        'operator',
      ])
      expect(after['pauses']).toEqual([])
    },
  )

  it('a command that means home A where the mesh of home B answers is refused as well where A has never been started', async () => {
    const end = await flotilla(
      { home: b.home },
      'delete',
      'clerk',
      '--yes',
      '--home',
      join(never, 'x'),
      '--port',
      port,
    )
    expect(end.code).toBe(3)
    expect(end.err).toContain('has never been started')
  })

  it('a command that means home A where the mesh of home B answers is refused where a note of A leads to it, and stop ends nothing of B', async () => {
    const note = JSON.parse(await readFile(stateFileOf(b), 'utf8')) as Record<string, unknown>
    expect(note['process_started']).toEqual(expect.any(Number))
    const { process_started: _, ...older } = note
    await writeFile(stateFileOf(a), JSON.stringify(older))
    expect((await flotilla({ home: a.home }, 'status')).err).toContain('wrong-home')
    // The process id of a dead mesh that another process has now.
    await writeFile(
      stateFileOf(a),
      JSON.stringify({ ...note, process_started: Number(note['process_started']) - 1 }),
    )
    const stopped = await flotilla({ home: a.home }, 'stop')
    expect(stopped).toMatchObject({ code: 0, out: expect.stringContaining('No mesh runs') as string })
    expect((await flotilla({ home: a.home }, 'status')).code).toBe(3)
    expect((await b.call(meshHumanEndpoints.status)).status).toBe(200)
  })
})

describe('the mesh of home B', () => {
  it('the mesh of home B answers requests for itself, and requests that name no home', async () => {
    expect(await flotilla({ home: b.home }, 'status', '--port', port)).toMatchObject({ code: 0 })
    expect(await flotilla({ home: b.home }, 'status')).toMatchObject({ code: 0 })
    expect((await fetch(`${b.url}${meshHumanEndpoints.status.path}`)).status).toBe(200)
  })

  it('the mesh of home B refuses before the body comes', async () => {
    const { method, path } = meshHumanEndpoints.chat
    const status = await new Promise<number>((resolve, reject) => {
      const call = request(
        `${b.url}${path.replace('{id}', 'operator')}`,
        {
          method,
          headers: {
            [headers.home]: '00000000-0000-4000-8000-000000000000',
            [headers.requestedWith]: 'test',
            'content-type': 'application/json',
            'content-length': '1000',
          },
        },
        (reply) => {
          resolve(reply.statusCode ?? 0)
          call.destroy()
        },
      )
      call.on('error', reject)
      call.flushHeaders()
    })
    expect(status).toBe(409)
  })
})
