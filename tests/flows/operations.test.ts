import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { headers } from '@flotilla/protocol/headers'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { meshInternalEndpoints } from '@flotilla/protocol/mesh-internal-api'
import { isProblemCode } from '@flotilla/protocol/problem-catalog'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { aCassette, says } from '../support/cassettes.ts'
import { meshArguments, openMesh, runMeshCommand, startMesh } from '../support/mesh-process.ts'
import type { CommandEnd, MeshProcess } from '../support/mesh-process.ts'

let mesh: MeshProcess
beforeAll(async () => {
  mesh = await startMesh({ cassettes: { plain: aCassette({ turns: [says('Yes.')] }) } })
  await mesh.ask('hello')
})
afterAll(() => mesh.stop())
beforeEach(() => mesh.restartIfStopped())

describe('a mesh that cannot start', () => {
  it('a mesh that cannot start is refused a home on which another runs, and leaves that one alone', async () => {
    const second = await runMeshCommand(
      meshArguments('serve', '--home', mesh.home, '--port', '0', '--runtime', 'process'),
    )
    expect(second.code, second.errors).toBe(1)
    expectProblem(second, 'home-in-use', mesh.home)
    const reset = await mesh.command('reset')
    expect(reset.code, reset.errors).toBe(1)
    expectProblem(reset, 'home-in-use', mesh.home)
    expect((await mesh.ask('hello', { session: 'still there' })).state).toBe('done')
  })

  it('a mesh that cannot start says which port is taken, before it prepares anything', async () => {
    const port = await takenPort()
    const home = `${mesh.home}-second`
    const refused = await runMeshCommand(
      meshArguments('serve', '--home', home, '--port', String(port), '--runtime', 'process'),
    )
    expect(refused.code, refused.errors).toBe(1)
    expectProblem(refused, 'conflict', String(port))
    expect(refused.lines.filter((line) => 'progress' in line)).toEqual([])
    await openMesh(home).stop()
  })

  it('a mesh that cannot start names a setting, a command or a flag that is wrong', async () => {
    const port = await runMeshCommand(meshArguments('serve', '--home', `${mesh.home}-x`, '--port', '99999'))
    // Exit code 78: only the owner can repair the cause, so no supervisor restarts the mesh.
    expect(port.code).toBe(78)
    expectProblem(port, 'unprocessable', 'FLOTILLA_PORT')
    const command = await runMeshCommand(meshArguments('serv'))
    expect(command.code).toBe(2)
    expect(command.lines.at(-1)).toMatchObject({ problem: { code: 'bad-request' } })
  })
})

describe('a mesh whose port for agents was taken while it was dead', () => {
  it('a mesh whose port for agents was taken while it was dead opens another, and its agents are started again', async () => {
    const state = JSON.parse(await readFile(join(mesh.home, 'data', 'mesh.json'), 'utf8')) as {
      agent_port: number
    }
    await mesh.kill9()
    await takenPort(state.agent_port)
    await mesh.restart()
    expect((await mesh.ask('hello', { session: 'another port' })).state).toBe('done')
  })
})

describe('doctor', () => {
  it('doctor checks a running mesh and gives every finding an id, a level and, where it is bad, a repair', async () => {
    const { code, lines } = await mesh.command('doctor')
    expect(code).toBe(0)
    const findings = lines.at(-1)?.['findings'] as {
      id: string
      ok: boolean
      level: string
      repair?: string
      detail: string
    }[]
    expect(findings.map(({ id }) => id)).toEqual(
      expect.arrayContaining(['node', 'port', 'permissions-file', 'journal']),
    )
    for (const finding of findings) {
      expect(finding.detail).not.toBe('')
      if (!finding.ok) expect(finding.repair, finding.id).toBeTruthy()
    }
    expect(findings.find(({ id }) => id === 'port')?.detail).toContain(`process ${mesh.pid}`)
    // Findings are shown as soon as they are known: the isolation checks at the end take seconds.
    const batches = lines.slice(0, -1).flatMap(({ found }) => (found === undefined ? [] : [found]))
    expect(batches.length).toBeGreaterThan(3)
    expect(batches.flat()).toEqual(findings)
  })
})

describe('/metrics', () => {
  it('/metrics is text in the form that Prometheus reads', async () => {
    const reply = await mesh.call(meshHumanEndpoints.metrics)
    expect(reply.headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/)
    const lines = reply.text.split('\n')
    expect(lines.at(-1)).toBe('')
    const types = new Map<string, string>()
    const samples = new Set<string>()
    for (const line of lines.slice(0, -1)) {
      const type = /^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram|summary|untyped)$/.exec(line)
      if (type?.[1] !== undefined) {
        expect(types.has(type[1]), line).toBe(false)
        types.set(type[1], type[2] ?? '')
        continue
      }
      if (/^# HELP [a-zA-Z_:][a-zA-Z0-9_:]* \S/.test(line)) continue
      const sample =
        /^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*",?)*\})? (?:[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|Inf)|NaN)(?: \d+)?$/i.exec(
          line,
        )
      expect(sample, line).not.toBeNull()
      expect(
        [...types.keys()].some((name) => sample?.[1]?.startsWith(name)),
        line,
      ).toBe(true)
      const key = `${sample?.[1]}${sample?.[2] ?? ''}`
      expect(samples.has(key), line).toBe(false)
      samples.add(key)
    }
    expect(samples.size).toBeGreaterThan(5)
  })
})

describe('the journal', () => {
  it('the journal is verified as whole, and not after one byte of it was changed', async () => {
    const whole = await mesh.command('verify-journal')
    expect(whole).toMatchObject({ code: 0, lines: [expect.objectContaining({ ok: true })] })
    const marked = { headers: { [headers.meshInternal]: '1' } }
    expect((await mesh.call(meshInternalEndpoints.journalVerify, marked)).json()).toMatchObject({ ok: true })
    await mesh.terminate()

    const database = new DatabaseSync(join(mesh.home, 'data', 'mesh.db'))
    const { detail } = database.prepare('SELECT detail FROM journal WHERE seq = 3').get() as {
      detail: string
    }
    const last = detail.length - 2
    const byte = detail[last] === '"' ? "'" : '"'
    database
      .prepare('UPDATE journal SET detail = ? WHERE seq = 3')
      .run(`${detail.slice(0, last)}${byte}${detail.slice(last + 1)}`)
    database.close()

    const changed = await mesh.command('verify-journal')
    expect(changed.code).toBe(1)
    expect(changed.lines.at(-1)).toMatchObject({ ok: false, brokenAt: 3, detail: 'the row was changed' })
    const doctor = (await mesh.command('doctor')).lines.at(-1)?.['findings'] as { id: string; ok: boolean }[]
    expect(doctor.find(({ id }) => id === 'journal')).toMatchObject({ ok: false })
  })
})

/** Expects a problem of the catalogue on the last line, whose detail names the cause. */
function expectProblem({ lines, errors }: CommandEnd, problemCode: string, named: string): void {
  expect(lines, errors).not.toEqual([])
  const problem = lines.at(-1)?.['problem'] as { code: string; detail: string; repair: string }
  expect(problem).toMatchObject({ code: problemCode, detail: expect.stringContaining(named) as unknown })
  expect(isProblemCode(problem.code)).toBe(true)
  // The repair is the catalogue's text, or a more specific one.
  expect(problem.repair).not.toBe('')
}

async function takenPort(wanted = 0): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(wanted, '127.0.0.1', resolve)
  })
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())))
  const { port } = server.address() as AddressInfo
  return port
}
