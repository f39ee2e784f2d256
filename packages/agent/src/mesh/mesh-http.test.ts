import { meshAgentEndpoints } from '@flotilla/protocol/mesh-agent-api'
import { afterEach, describe, expect, test } from 'vitest'
import { doorToken } from '../testing/agent-process.ts'
import { sendProblem, startFakeMesh } from '../testing/fake-mesh.ts'
import type { MeshAnswer } from '../testing/fake-mesh.ts'
import { quietLog } from '../testing/quiet-log.ts'
import { createMeshHttp } from './mesh-http.ts'
import { createRunMesh } from './run-mesh.ts'

const ticket = { runId: 'run_1', fence: 4 }
const signal = new AbortController().signal
const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

/** A clock whose waits pass at once and advance `now`. */
function fastClock() {
  let now = 0
  const waitsMs: number[] = []
  const sleep = async (ms: number, stop?: AbortSignal): Promise<void> => {
    stop?.throwIfAborted()
    waitsMs.push(ms)
    now += ms
    await new Promise((resolve) => {
      setTimeout(resolve, 1)
    })
  }
  return { clock: { now: () => now, sleep }, waitsMs }
}

async function connect(answers: readonly MeshAnswer[]) {
  const mesh = await startFakeMesh(answers)
  const time = fastClock()
  const http = createMeshHttp({
    host: '127.0.0.1',
    port: mesh.port,
    doorToken,
    clock: time.clock,
    log: quietLog,
  })
  closers.push(
    () => http.close(),
    () => mesh.close(),
  )
  return { mesh, http, ...time }
}

describe('the way to the mesh', () => {
  test('every call carries token, run, fence and its key', async () => {
    const { mesh, http } = await connect([() => ({ note_id: 'n' })])
    const call = {
      endpoint: meshAgentEndpoints.notify,
      ticket,
      signal,
      body: { message: 'x' },
      idempotencyKey: 'run_1:7',
    }
    expect(await http.call(call)).toEqual({ note_id: 'n' })
    expect(mesh.requests[0]?.headers).toMatchObject({
      authorization: `Bearer ${doorToken}`,
      'x-run-id': 'run_1',
      'x-run-fence': '4',
      'idempotency-key': 'run_1:7',
    })
  })

  test('keys in paths are encoded by segment', async () => {
    const { mesh, http } = await connect([() => ({})])
    const params = { key: 'a b/c?d' }
    await http.call({ endpoint: meshAgentEndpoints.blackboardRead, ticket, signal, params })
    expect(mesh.requests[0]?.path).toBe('/mesh/blackboard/a%20b/c%3Fd')
  })

  test('a problem is thrown as it is and not asked for again', async () => {
    const { mesh, http } = await connect([
      (_request, response) => sendProblem(response, 502, 'upstream-failed'),
    ])
    const call = http.call({ endpoint: meshAgentEndpoints.agents, ticket, signal })
    await expect(call).rejects.toMatchObject({ code: 'upstream-failed', detail: 'fake upstream-failed' })
    expect(mesh.requests).toHaveLength(1)
  })

  test.each([502, 503, 504])(
    'a bare %i is the mesh on its way back: the call is made again under the same key',
    async (status) => {
      let times = 0
      const { mesh, http, waitsMs } = await connect([
        (_request, response) => {
          times += 1
          if (times > 3) return { ok: true }
          response.writeHead(status).end('away')
          return undefined
        },
      ])
      const call = {
        endpoint: meshAgentEndpoints.notify,
        ticket,
        signal,
        body: {},
        idempotencyKey: 'run_1:1',
      }
      expect(await http.call(call)).toEqual({ ok: true })
      expect(waitsMs).toEqual([250, 500, 1000])
      expect(new Set(mesh.requests.map((request) => request.headers['idempotency-key']))).toEqual(
        new Set(['run_1:1']),
      )
    },
  )

  test('a mesh that is restarted under the call answers it in the end', async () => {
    const first = await startFakeMesh([(_request, response) => response.destroy()])
    const { clock } = fastClock()
    const http = createMeshHttp({ host: '127.0.0.1', port: first.port, doorToken, clock, log: quietLog })
    const call = http.call({ endpoint: meshAgentEndpoints.agents, ticket, signal })
    await first.close()
    const second = await startFakeMesh([() => ({ agents: [] })], first.port)
    closers.push(
      () => http.close(),
      () => second.close(),
    )
    expect(await call).toEqual({ agents: [] })
  })

  test('a mesh that stays away is given up after ten minutes', async () => {
    const { clock } = fastClock()
    const http = createMeshHttp({ host: '127.0.0.1', port: 1, doorToken, clock, log: quietLog })
    const call = http.call({ endpoint: meshAgentEndpoints.agents, ticket, signal })
    await expect(call).rejects.toMatchObject({ code: 'upstream-failed' })
    expect(clock.now()).toBeGreaterThan(590_000)
    expect(clock.now()).toBeLessThanOrEqual(600_000)
  })

  const keyed = { endpoint: meshAgentEndpoints.notify, ticket, signal, body: {}, idempotencyKey: 'run_1:1' }

  test('a call with an effect that a mesh may have had before it went away ends as of unknown outcome', async () => {
    const { http, mesh } = await connect([(_request, response) => response.destroy()])
    await expect(http.call(keyed)).rejects.toMatchObject({ code: 'outcome-unknown' })
    expect(new Set(mesh.requests.map((request) => request.headers['idempotency-key']))).toEqual(
      new Set(['run_1:1']),
    )
    const { idempotencyKey: _key, ...rest } = keyed
    const unkeyed = { ...rest, hasEffect: true, waitForMesh: false }
    await expect(http.call(unkeyed)).rejects.toMatchObject({ code: 'outcome-unknown' })
  })

  test('a call with an effect that never met a mesh had none', async () => {
    const { clock } = fastClock()
    const http = createMeshHttp({ host: '127.0.0.1', port: 1, doorToken, clock, log: quietLog })
    await expect(http.call(keyed)).rejects.toMatchObject({ code: 'upstream-failed' })
  })

  test('an abort ends the waiting', async () => {
    const { clock } = fastClock()
    const http = createMeshHttp({ host: '127.0.0.1', port: 1, doorToken, clock, log: quietLog })
    const controller = new AbortController()
    const call = http.call({ endpoint: meshAgentEndpoints.agents, ticket, signal: controller.signal })
    controller.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')
  })

  test('a stale fence is reported to the run', async () => {
    const { http } = await connect([(_request, response) => sendProblem(response, 409, 'stale-fence')])
    let takenOver = 0
    const mesh = createRunMesh(http, ticket, () => (takenOver += 1))
    const call = mesh.call({ endpoint: meshAgentEndpoints.lease, signal })
    await expect(call).rejects.toMatchObject({ code: 'stale-fence' })
    expect(takenOver).toBe(1)
  })
})
