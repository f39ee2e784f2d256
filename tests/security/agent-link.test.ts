import { createServer as createHttp } from 'node:http'
import { once } from 'node:events'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:tls'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { agentLinkClient } from '@flotilla/protocol/agent-link'
import { createAgentGate } from '../../packages/identity/src/http/gates/agent-gate.ts'
import { agentConnectionBounds } from '../../packages/identity/src/http/bound-connections.ts'
import { createServer } from '../../packages/identity/src/http/server.ts'
import { createLinkedListener } from '../../packages/identity/src/http/link/linked-listener.ts'
import { silentLog } from '../../packages/foundation/src/platform/log.ts'
import { createProxyGate } from '../../packages/egress/src/egress/proxy/proxy-gate.ts'
import { linkedAgentOf } from '../../packages/identity/src/http/link/linked-sockets.ts'
import { freeShares } from '../support/free-shares.ts'

/** An attacker who controls an agent's pod and has another agent's tokens. */
const host = '127.0.0.1'
const keys = { scout: Buffer.alloc(32, 1), thief: Buffer.alloc(32, 2) }
type Name = keyof typeof keys
const keyOf = (identity: string) => {
  const key = keys[identity as Name] as Buffer | undefined
  return key ? { agentId: identity, key } : null
}
const verifyToken = (token: string) =>
  token === 'token-of-scout' ? ({ agentId: 'scout', token: 'program' } as const) : null
const liveRunOf = (agentId: string) => ({ runId: 'run_1', agentId, fence: 1 }) as never
const bounds = { ...agentConnectionBounds, perAddressMax: 16, totalMax: 64 }

async function listening(server: Parameters<typeof createLinkedListener>[0]['server']): Promise<number> {
  const listener = createLinkedListener({ server, keyOf, bounds, log: silentLog })
  onTestFinished(() => listener.close())
  await listener.listen({ port: 0, host })
  return listener.port()
}

async function ask(port: number, who: Name, headers: Record<string, string>) {
  const key = keys[who]
  const createConnection = () => connect({ host, port, ...agentLinkClient({ identity: who, key }) })
  const sent = request({ path: '/x', headers, createConnection }).end()
  const [reply] = (await once(sent, 'response')) as [IncomingMessage]
  return { status: reply.statusCode, body: await text(reply) }
}

test('the agent API takes a token over the line of its own agent alone', async () => {
  const gate = createAgentGate({
    verifyToken,
    liveRunOf,
    ticketOf: () => {
      throw new Error('not asked')
    },
    readingOn: () => 0,
    countCall: () => {},
    guard: () => {},
    ...freeShares(),
  })
  const server = createServer(silentLog)
  server.addHook('onRequest', gate.admitToModels)
  server.get('/x', async () => ({ done: true }))
  await server.ready()
  const port = await listening(server.server)
  const headers = { authorization: 'Bearer token-of-scout' }
  expect(await ask(port, 'scout', headers)).toMatchObject({ status: 200 })
  expect(await ask(port, 'thief', headers)).toMatchObject({ status: 401 })
})

test('the forward proxy accepts a token only over the connection of its own agent', async () => {
  const gate = createProxyGate({ verifyToken, liveRunOf })
  const server = createHttp((asked, reply) => {
    try {
      reply.end(gate(asked.headers['proxy-authorization'], linkedAgentOf(asked.socket)).caller.agentId)
    } catch (error) {
      reply.writeHead(407).end(String(error))
    }
  })
  const port = await listening(server)
  const headers = { 'proxy-authorization': `Basic ${btoa('scout:token-of-scout')}` }
  expect(await ask(port, 'scout', headers)).toEqual({ status: 200, body: 'scout' })
  expect(await ask(port, 'thief', headers)).toMatchObject({ status: 407 })
})
