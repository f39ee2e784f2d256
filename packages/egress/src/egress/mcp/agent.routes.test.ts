import { allowedEffects } from '../../../../testing/src/allowed-effects.ts'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import Fastify from 'fastify'
import { mcpAgentEndpoints } from '@flotilla/protocol/mcp-api'
import { mcpServersSchema } from '@flotilla/protocol/mcp-servers'
import { expect, onTestFinished, test } from 'vitest'
import { collectJournal } from '../../../../../tests/support/collected-ports.ts'
import { aCredentialRoom } from '../../../../../tests/support/credential-room.ts'
import { eventually } from '../../../../../tests/support/eventually.ts'
import { createExchangeWithServer } from './exchange-with-server.ts'
import type { RunTicket } from '../../../../identity/src/access/run-ticket.ts'
import { systemClock } from '../../../../foundation/src/platform/system-clock.ts'
import type { AgentCaller } from '../../../../identity/src/http/gates/agent-gate.ts'
import { openAgents } from '../../../../identity/src/http/open-surfaces.ts'
import type { Routes } from '../../../../identity/src/http/routes.ts'
import { mcpAgentRoutes } from './agent.routes.ts'
import { ownLoop } from '../../../../testing/src/own-loop.ts'

const run = { runId: 'run_1', agentId: 'scout', fence: 1 } as unknown as RunTicket // The code under test reads only these fields.
const caller: AgentCaller = { kind: 'agent', agentId: 'scout', token: 'door', run }

test('an agent that does not read an MCP answer loses connection and lease at the end of its run', async () => {
  const ends: string[] = []
  const live = { run: run as RunTicket | null }
  const journal = collectJournal()
  const exchange = createExchangeWithServer({
    checkEffect: allowedEffects,
    loop: ownLoop(),
    held: { take: () => {}, giveBack: () => {} },
    guard: () => {},
    serversOf: () => mcpServersSchema.parse({ wiki: { url: 'http://site.test/mcp' } }),
    fetchFor: () => async () => ({
      status: 200,
      headers: { 'content-type': 'text/event-stream' },
      body: (async function* () {
        for (let part = 0; part < 200; part++) yield Buffer.from(`data: ${'x'.repeat(100_000)}\n\n`)
      })(),
      close: async () => void ends.push('far end closed'),
    }),
    journal,
    clock: systemClock,
    holdLease: () => () => void ends.push('lease released'),
    credentials: aCredentialRoom({ values: {}, hosts: {} }).open,
    isOver: () => live.run === null,
    ask: () => {},
  })
  const server = Fastify()
  const admit = async () => {}
  const gate = {
    doorTokenOnly: () => caller,
    admitDoorToken: admit,
    admitToModels: admit,
    hold: () => {},
    keep: () => () => {},
    spend: <T>(_request: unknown, work: () => T): T => work(),
    turn: () => null,
  }
  const routes: Routes = { agent: (surface) => mcpAgentRoutes(surface, exchange) }
  openAgents(server, [{ routes }], {
    gate: { ...gate, modelSurface: gate.doorTokenOnly },
    // No call here uses an idempotency key.
    effects: {} as never,
  })
  await server.listen({ port: 0, host: '127.0.0.1' })
  const { port } = server.server.address() as AddressInfo // The server is listening.
  const asking = request({
    port,
    host: '127.0.0.1',
    method: 'POST',
    path: mcpAgentEndpoints.mcpExchange.path,
    headers: { 'content-type': 'application/json' },
  })
  onTestFinished(async () => {
    asking.destroy()
    await server.close()
  })
  asking.on('error', () => undefined)
  const replied = new Promise<IncomingMessage>((resolve) => asking.once('response', resolve))
  asking.end(JSON.stringify({ server: 'wiki', url: null, method: 'POST' }))
  const reply = await replied
  reply.on('error', () => undefined)
  reply.pause()
  // The buffers of both sides are full by then.
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(ends).toEqual([])
  live.run = null
  await eventually('everything is released', async () => ends.length === 2)
  expect(ends.toSorted()).toEqual(['far end closed', 'lease released'])
  expect(journal.entries.at(-1)).toMatchObject({ action: 'mcp.exchanged', detail: { server: 'wiki' } })
})
