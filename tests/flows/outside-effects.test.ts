import type { ServerResponse } from 'node:http'
import process from 'node:process'
import { afterEach, describe, expect, it } from 'vitest'
import { aCassette, calls, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { startMeshForTest } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { startWebServer } from '../support/web-server.ts'
import type { WebServer } from '../support/web-server.ts'

const opened: WebServer[] = []
afterEach(async () => {
  for (const web of opened.splice(0)) await web.close()
})

/** A worker that sends one request to a far end which answers when the test says so, and then says what it was told. */
async function aSender() {
  const open: ServerResponse[] = []
  const web = await startWebServer((_request, response) => void open.push(response))
  opened.push(web)
  const address = `127.0.0.1:${web.port}`
  const asks = (method: string, timeoutMs: number) => ({
    agents: ['sender'],
    when: `^${method} ${timeoutMs}$`,
    turns: [
      calls('http_request', {
        url: `http://${address}/orders`,
        method,
        body: method === 'GET' ? '' : 'one',
        timeout_ms: timeoutMs,
      }),
      says('{{told}}', { capture: { told: '(outcome-unknown|upstream-timeout|"status": \\d+)' } }),
    ],
  })
  const cassette = aCassette(asks('POST', 1000), asks('POST', 60_000), asks('GET', 60_000))
  const mesh = await startMeshForTest({
    cassettes: { sender: cassette },
    settings: { egress: { allowed_private: [address] } },
  })
  await mesh.createWorker('sender')
  return {
    mesh,
    web,
    send: (method: string, timeoutMs = 60_000) =>
      mesh.submit(`${method} ${timeoutMs}`, { agent: 'sender', key: 'once' }),
    arrived: (count = 1) =>
      eventually(`${count} requests arrive`, async () => (web.requests.length >= count ? true : null)),
    answer: (status: number) => {
      for (const response of open.splice(0)) response.writeHead(status).end('ordered')
    },
  }
}

async function killAgent(mesh: MeshProcess): Promise<void> {
  const record = (await mesh.agentProcesses()).find((found) => found.agentId === 'sender')
  if (!record) throw new Error('the sender has no process')
  process.kill(-record.pid, 'SIGKILL')
}

describe('a request that changes something outside is sent once, and its agent hears what became of it', () => {
  it('where the agent is killed: the answer waits for the agent that goes on with the run', async () => {
    const { mesh, web, send, arrived, answer } = await aSender()
    const run = await send('POST')
    await arrived()
    await killAgent(mesh)
    await eventually('another attempt has begun', async () => (await mesh.run(run)).attempt === 2 || null)
    answer(201)
    const ended = await mesh.ended(run)
    expect(ended.outcome).toMatchObject({ status: 'done', text: '"status": 201' })
    expect(web.requests).toHaveLength(1)
  })

  it('where the agent is killed and the far end never answers: nobody knows, and it is told so', async () => {
    const { mesh, web, send, arrived } = await aSender()
    const run = await send('POST', 1000)
    await arrived()
    await killAgent(mesh)
    expect((await mesh.ended(run)).outcome).toMatchObject({ status: 'done', text: 'outcome-unknown' })
    expect(web.requests).toHaveLength(1)
  })

  it('where nothing is killed and the far end never answers: the same', async () => {
    const { mesh, web, send } = await aSender()
    const run = await send('POST', 1000)
    expect((await mesh.ended(run)).outcome).toMatchObject({ status: 'done', text: 'outcome-unknown' })
    expect(web.requests).toHaveLength(1)
  })

  it.each(['kill9', 'terminate'] as const)(
    'where the mesh ends by %s: nobody knows, and it is told so',
    async (end) => {
      const { mesh, web, send, arrived, answer } = await aSender()
      const run = await send('POST')
      await arrived()
      await mesh[end]()
      answer(201)
      await mesh.restart()
      expect((await mesh.ended(run)).outcome).toMatchObject({ status: 'done', text: 'outcome-unknown' })
      expect(web.requests).toHaveLength(1)
    },
  )

  it('and an error is an answer', async () => {
    const { mesh, web, send, arrived, answer } = await aSender()
    const run = await send('POST')
    await arrived()
    answer(500)
    expect((await mesh.ended(run)).outcome).toMatchObject({ status: 'done', text: '"status": 500' })
    expect(web.requests).toHaveLength(1)
  })
})

describe('a request that changes nothing outside', () => {
  it('is sent again when the mesh was killed before its answer', async () => {
    const { mesh, web, send, arrived, answer } = await aSender()
    const run = await send('GET')
    await arrived()
    await mesh.kill9()
    answer(200)
    await mesh.restart()
    await arrived(2)
    answer(200)
    expect((await mesh.ended(run)).outcome).toMatchObject({ status: 'done', text: '"status": 200' })
    expect(web.requests).toHaveLength(2)
  })
})
