import type { ServerResponse } from 'node:http'
import process from 'node:process'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { aCassette, calls, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { startWebServer } from '../support/web-server.ts'
import type { WebServer } from '../support/web-server.ts'

let web: WebServer
let mesh: MeshProcess
/** Requests that the external server has not answered. */
let open: ServerResponse[] = []
let senders = 0

beforeAll(async () => {
  web = await startWebServer((_request, response) => void open.push(response))
  const address = `127.0.0.1:${web.port}`
  const asks = (method: string, timeoutMs: number) => ({
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
  mesh = await startMesh({
    cassettes: { sender: cassette },
    settings: { egress: { allowed_private: [address] } },
  })
})
afterAll(async () => {
  await mesh?.stop()
  await web?.close()
})
beforeEach(() => mesh.restartIfStopped())

/**
 * A worker that sends one request to a server, which answers when the test releases it, and then reports the
 * result.
 */
async function aSender() {
  const name = `sender-${++senders}`
  const before = web.requests.length
  open = []
  await mesh.createWorker(name)
  const sent = () => web.requests.length - before
  return {
    sent,
    kill: async () => {
      const record = (await mesh.agentProcesses()).find((found) => found.agentId === name)
      if (!record) throw new Error('the sender has no process')
      process.kill(-record.pid, 'SIGKILL')
    },
    send: (method: string, timeoutMs = 60_000) =>
      mesh.submit(`${method} ${timeoutMs}`, { agent: name, key: `${name}: once` }),
    arrived: (count = 1) => eventually(`${count} requests arrive`, () => sent() >= count),
    answer: (status: number) => {
      for (const response of open.splice(0)) response.writeHead(status).end('ordered')
    },
  }
}

describe('a request that changes something outside is sent once, and its agent hears what became of it', () => {
  it('a request with an external effect where the agent is killed: the answer waits for the agent that goes on with the run', async () => {
    const { sent, send, arrived, answer, kill } = await aSender()
    const run = await send('POST')
    await arrived()
    await kill()
    await eventually('another attempt has begun', async () => (await mesh.run(run)).attempt === 2 || null)
    answer(201)
    const ended = await mesh.ended(run)
    expect(ended.outcome).toMatchObject({ status: 'done', text: '"status": 201' })
    expect(sent()).toBe(1)
  })

  it('a request of a killed agent without an answer is reported as of unknown outcome', async () => {
    const { sent, send, arrived, kill } = await aSender()
    const run = await send('POST', 1000)
    await arrived()
    await kill()
    expect((await mesh.ended(run)).outcome).toMatchObject({ status: 'done', text: 'outcome-unknown' })
    expect(sent()).toBe(1)
  })

  it('a request with an external effect where nothing is killed and the far end never answers: the same', async () => {
    const { sent, send } = await aSender()
    const run = await send('POST', 1000)
    expect((await mesh.ended(run)).outcome).toMatchObject({ status: 'done', text: 'outcome-unknown' })
    expect(sent()).toBe(1)
  })

  it.each(['kill9', 'terminate'] as const)(
    'a request interrupted by %s of the mesh is reported as of unknown outcome',
    async (end) => {
      const { sent, send, arrived, answer } = await aSender()
      const run = await send('POST')
      await arrived()
      await mesh[end]()
      answer(201)
      await mesh.restart()
      expect((await mesh.ended(run)).outcome).toMatchObject({ status: 'done', text: 'outcome-unknown' })
      expect(sent()).toBe(1)
    },
  )

  it('an error in reply to a request with an external effect is an answer', async () => {
    const { sent, send, arrived, answer } = await aSender()
    const run = await send('POST')
    await arrived()
    answer(500)
    expect((await mesh.ended(run)).outcome).toMatchObject({ status: 'done', text: '"status": 500' })
    expect(sent()).toBe(1)
  })
})

describe('a request that changes nothing outside', () => {
  it('a request that changes nothing outside is sent again when the mesh was killed before its answer', async () => {
    const { sent, send, arrived, answer } = await aSender()
    const run = await send('GET')
    await arrived()
    await mesh.kill9()
    answer(200)
    await mesh.restart()
    await arrived(2)
    answer(200)
    expect((await mesh.ended(run)).outcome).toMatchObject({ status: 'done', text: '"status": 200' })
    expect(sent()).toBe(2)
  })
})
