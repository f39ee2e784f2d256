import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { heedsLesson } from '../verifies.ts'
import { aCassette, says } from '../support/cassettes.ts'
import { flotilla } from '../support/flotilla-command.ts'
import type { CommandResult } from '../support/flotilla-command.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'

let mesh: MeshProcess
let folder = ''
beforeAll(async () => {
  mesh = await startMesh({
    cassettes: { errors: aCassette({ turns: [says('Yes.')] }) },
  })
  await mesh.createWorker('worker-1')
  folder = await mkdtemp(join(tmpdir(), 'flotilla-errors-'))
})
afterAll(async () => {
  await mesh.stop()
  await rm(folder, { recursive: true, force: true })
})

/** Runs a command; beside the result, the terminal shows detail, code and repair. */
const typed = (
  words: readonly string[],
  more: { readonly input?: string; readonly environment?: Readonly<Record<string, string>> } = {},
): Promise<CommandResult> =>
  flotilla({ ...more, home: mesh.home, environment: { HOME: folder, ...more.environment } }, ...words)

/** Returns the repair that the terminal shows. */
function next({ err }: CommandResult): string {
  return err.split(/^ {2}next /m)[1] ?? ''
}

describe('at the terminal', () => {
  it('a port in use is reported with the process that holds it and the setting for another port', async () => {
    heedsLesson(90)
    const port = new URL(mesh.url).port
    const told = await typed(['start', '-d', '--runtime', 'process', '--home', join(folder, 'second')], {
      environment: { FLOTILLA_PORT: port },
    })
    expect(told.code).toBe(1)
    expect(told.err).toContain(`port ${port} on 127.0.0.1 is used by process ${mesh.pid} (`)
    expect(next(told)).toContain(`flotilla --home ${join(folder, 'second')} start --port NUMBER`)
    expect(next(told)).toContain('FLOTILLA_PORT=NUMBER in .env')
  })

  it('a wish to delete the operator is answered with what can be done to it', async () => {
    const told = await typed(['delete', 'operator', '-y'])
    expect(told.err).toContain('the operator cannot be deleted')
    expect(next(told)).toContain('flotilla pause operator')
    expect(next(told)).not.toContain('Choose another id')
  })

  it('a message of 5 MB is rejected with its limit and the way to send files', async () => {
    const told = await typed(['chat', 'worker-1', '-'], { input: 'a'.repeat(5_000_000) })
    expect(told.code).toBe(1)
    expect(told.err).toContain('5000000 characters; one may have 100000')
    expect(next(told)).toContain('flotilla put AGENT FILE')
  })

  it('a body of 5 MB on another endpoint is rejected with its limit in bytes', async () => {
    const reply = await mesh.call(meshHumanEndpoints.chat, {
      params: { id: 'worker-1' },
      body: { message: 'a'.repeat(5_000_000) },
    })
    expect(reply.json()).toMatchObject({
      code: 'body-too-large',
      detail: 'the body may have at most 1048576 bytes',
      repair: expect.stringContaining('flotilla put AGENT FILE') as string,
    })
  })

  it('a budget outside of its range is rejected with the range and the command', async () => {
    for (const [whose, form] of [
      ['worker-1', 'flotilla budget AGENT --daily USD'],
      ['fleet', 'flotilla budget fleet --daily USD, or none'],
    ] as const) {
      const told = await typed(['budget', whose, '--daily', '-5'])
      expect(told.code).toBe(1)
      expect(told.err).toContain('not -5')
      expect(next(told)).toContain(form)
      expect(next(told)).toMatch(/daily_usd from [0-9.]+ to [0-9]+/)
    }
  })

  it('a failed chat prints what to set and the run with details', async () => {
    await mesh.createWorker('lost', { model: 'scripted/errors' })
    await rm(join(mesh.home, 'cassettes', 'errors.json'))
    const told = await typed(['chat', 'lost', 'hello'])
    const runId = (await mesh.runs(1))[0]?.id ?? ''
    expect(told.code).toBe(1)
    expect(told.err).toMatch(/^✗ .*cassette/m)
    expect(next(told)).toContain(`flotilla runs ${runId}`)
    expect(next(told)).not.toMatch(/see the detail/i)
  })

  it.each(['/proc/flotilla/home', '/dev/null/home'])(
    'a home that cannot be created is reported as such: %s',
    async (home) => {
      for (const words of [['start', '-d'], ['doctor']]) {
        const { code, out, err } = await typed([...words, '--home', home])
        expect(code, out + err).toBe(1)
        expect(out + err).toContain(`${home} cannot be the home`)
        expect(out + err).toContain('FLOTILLA_HOME')
      }
    },
  )

  it('a mesh that is not running is reported as such, with the command to start it', async () => {
    for (const place of [
      ['--port', '1'],
      ['--url', 'http://127.0.0.1:1'],
    ]) {
      const told = await typed(['status', ...place])
      expect(told.code).toBe(3)
      expect(told.err).toContain('No mesh answers on http://127.0.0.1:1')
      expect(told.err).toContain('code mesh-unreachable')
      expect(next(told)).toContain('flotilla start -d')
    }
  })

  it('a file that would be put outside of /data is refused as that, before it goes anywhere', async () => {
    const file = join(folder, 'a.txt')
    await writeFile(file, 'words')
    for (const path of ['../../etc/x', 'a/../../x', '/..', 'a//b', './x']) {
      const told = await typed(['put', 'worker-1', file, path])
      expect(told.code).toBe(1)
      expect(told.err).toContain('code path-refused')
      expect(next(told)).toContain('flotilla put AGENT FILE PATH')
    }
    expect(await typed(['put', 'worker-1', file, '/data/in/a.txt'])).toMatchObject({ code: 0 })
  })
})
