import { Problem } from '@flotilla/protocol/problem'
import { problemJson } from '@flotilla/protocol/problem-json'
import { describe, expect, it } from 'vitest'
import { answerJson, startLoopbackServer } from './loopback-server.ts'
import { createMeshClient } from './mesh-client.ts'
import type { MeshClientOptions } from './mesh-client.ts'
import { nodeFetch } from './node-fetch.ts'
import { isMeshUnreachable } from './unreachable.ts'

async function problemOf(work: Promise<unknown>): Promise<Problem> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(Problem)
  return error as Problem
}

describe.each([
  ['the fetch of Node', globalThis.fetch],
  ['node:http', nodeFetch],
])('mesh client over %s', (_name, fetch) => {
  const clientOf = (options: MeshClientOptions) => createMeshClient({ fetch, ...options })

  it('the mesh client fills the path, encodes the query and parses the reply', async () => {
    await using server = await startLoopbackServer((_call, reply) =>
      answerJson(reply, 200, { runs: [], older: null }),
    )
    const reply = await clientOf({ baseUrl: `${server.url}/` }).call('runs', {
      query: { agent: 'a b', limit: 7 },
    })
    expect(reply).toEqual({ runs: [], older: null })
    expect(server.calls[0]?.url).toBe('/api/runs?agent=a+b&limit=7')
  })

  it('the mesh client marks writes and leaves reads unmarked', async () => {
    await using server = await startLoopbackServer((_call, reply) =>
      answerJson(reply, 200, { recording: true, runs: [], older: null }),
    )
    const client = clientOf({ baseUrl: server.url })
    await client.bytes('runs')
    await client.bytes('recordingStart')
    expect(server.calls.map((call) => call.headers['x-requested-with'])).toEqual([undefined, 'flotilla'])
  })

  it('the mesh client sends the session cookie, the idempotency key and raw bytes as they are', async () => {
    await using server = await startLoopbackServer((_call, reply) =>
      answerJson(reply, 200, { path: 'a/b c.txt', size: 2 }),
    )
    await clientOf({ baseUrl: server.url, cookie: 'v1.abc' }).call('fileWrite', {
      params: { id: 'auditor', path: 'a/b c.txt' },
      bytes: new Uint8Array([104, 105]),
      idempotencyKey: 'k-1',
    })
    const call = server.calls[0]
    expect(call).toMatchObject({ method: 'PUT', url: '/api/agents/auditor/files/a/b%20c.txt', body: 'hi' })
    expect(call?.headers).toMatchObject({ cookie: 'ol_session=v1.abc', 'idempotency-key': 'k-1' })
  })

  it('the mesh client turns a problem body into the Problem with its code, words and repair', async () => {
    const sent = problemJson(new Problem('lane-full', { detail: '100 runs are queued' }), 'req-1')
    await using server = await startLoopbackServer((_call, reply) => {
      reply.setHeader('retry-after', '3')
      answerJson(reply, 429, { ...sent, repair: 'Cancel some.' })
    })
    const problem = await problemOf(clientOf({ baseUrl: server.url }).call('status'))
    expect(problem).toMatchObject({ code: 'lane-full', detail: '100 runs are queued', retryAfterSeconds: 3 })
    expect(problem.repair).toBe('Cancel some.')
  })

  it.each([
    [402, 'budget-exhausted'],
    [403, 'denied'],
    [404, 'not-found'],
    [503, 'agent-unavailable'],
    [418, 'bad-request'],
    [599, 'internal-error'],
  ])('the mesh client treats an unknown code with status %i as %s', async (status, code) => {
    await using server = await startLoopbackServer((_call, reply) =>
      answerJson(reply, status, { code: 'from-the-future', detail: 'words' }),
    )
    const problem = await problemOf(clientOf({ baseUrl: server.url }).call('status'))
    expect(problem).toMatchObject({ code, detail: 'words' })
  })

  it('the mesh client quotes a refusal that is no problem body', async () => {
    await using server = await startLoopbackServer((_call, reply) =>
      reply.writeHead(502).end('<h1>Bad gateway</h1>'),
    )
    const problem = await problemOf(clientOf({ baseUrl: server.url }).call('status'))
    expect(problem).toMatchObject({
      code: 'upstream-failed',
      detail: 'the mesh answered 502: <h1>Bad gateway</h1>',
    })
  })

  it.each([
    ['an unknown field', JSON.stringify({ runs: [], older: null, more: 1 })],
    ['no JSON', 'hello'],
  ])('the mesh client refuses a reply with %s as another version', async (_what, body) => {
    await using server = await startLoopbackServer((_call, reply) => reply.end(body))
    const problem = await problemOf(clientOf({ baseUrl: server.url }).call('runs'))
    expect(problem.code).toBe('upstream-failed')
    expect(problem.repair).toContain('flotilla stop')
    expect(isMeshUnreachable(problem)).toBe(false)
  })

  it('the mesh client says how to start a mesh where none answers', async () => {
    const server = await startLoopbackServer(() => undefined)
    await server[Symbol.asyncDispose]()
    const problem = await problemOf(clientOf({ baseUrl: server.url }).call('status'))
    expect(isMeshUnreachable(problem)).toBe(true)
    expect(problem.detail).toContain('ECONNREFUSED')
    expect(problem.repair).toContain('flotilla start')
  })

  it('the mesh client treats a connection cut in the middle of a reply as unreachable', async () => {
    await using server = await startLoopbackServer((_call, reply) => {
      reply.writeHead(200, { 'content-length': '100' })
      reply.write('{"runs":')
      setImmediate(() => reply.destroy())
    })
    const problem = await problemOf(clientOf({ baseUrl: server.url }).call('runs'))
    expect(isMeshUnreachable(problem)).toBe(true)
  })

  it('the mesh client reads why a mesh is not ready out of its 503', async () => {
    const body = { ready: false, problems: [{ id: 'permissions-broken', detail: 'line 3' }] }
    await using server = await startLoopbackServer((_call, reply) => {
      reply.writeHead(503, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
    expect(await clientOf({ baseUrl: server.url }).call('readyz')).toEqual(body)
  })

  it('the mesh client keeps the reason of an abort', async () => {
    await using server = await startLoopbackServer(() => undefined)
    const signal = AbortSignal.timeout(30)
    const error = await clientOf({ baseUrl: server.url })
      .call('status', { signal })
      .catch((reason: unknown) => reason)
    expect(error).toMatchObject({ name: 'TimeoutError' })
  })

  it('the mesh client does not take an abort for a mesh that is gone', async () => {
    await using server = await startLoopbackServer(() => undefined)
    const stop = new AbortController()
    setTimeout(() => stop.abort(new Error('interrupted')), 30)
    const asked = clientOf({ baseUrl: server.url }).call('status', { signal: stop.signal })
    await expect(asked).rejects.toThrow('interrupted')
  })

  it('the mesh client follows no redirect', async () => {
    await using server = await startLoopbackServer((_call, reply) =>
      reply.writeHead(302, { location: '/elsewhere' }).end(),
    )
    await problemOf(clientOf({ baseUrl: server.url }).call('status'))
    expect(server.calls).toHaveLength(1)
  })
})
