import { request } from 'node:http'
import type { ClientRequest } from 'node:http'
import { afterEach, expect, test } from 'vitest'
import type { FastifyInstance } from 'fastify'
import type { Log } from '../../log.ts'
import { silentLog } from '../../log.ts'
import { createServer } from '../server.ts'
import { createAgentGate } from './gate.ts'

const doors: { server: FastifyInstance; calls: ClientRequest[] }[] = []
afterEach(async () => {
  for (const { server, calls } of doors.splice(0)) {
    for (const call of calls) call.destroy()
    await server.close()
  }
})

/** A door of agents whose token is their id. */
async function aDoor(log: Log = silentLog) {
  const gate = createAgentGate({
    verifyToken: (agentId) => (agentId === '' ? null : { agentId, token: 'program' }),
    ticketOf: () => {
      throw new Error('not asked')
    },
    liveRunOf: () => null,
    readingOn: () => 0,
    countCall: () => {},
  })
  const server = createServer(log)
  server.addHook('onRequest', gate.refuseStrangers)
  server.post('/x', async () => ({ done: true }))
  const url = await server.listen({ port: 0, host: '127.0.0.1' })
  const calls: ClientRequest[] = []
  doors.push({ server, calls })
  /** Says that there is a body, and sends it only when told. */
  const open = (agentId: string): ClientRequest => {
    const call = request(`${url}/x`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${agentId}`,
        'content-type': 'application/json',
        'content-length': 2,
      },
    })
    call.on('error', () => {})
    call.write('{')
    calls.push(call)
    return call
  }
  return { open }
}

const statusOf = (call: ClientRequest): Promise<number | undefined> =>
  new Promise((resolve) => call.once('response', (reply) => resolve(reply.resume().statusCode)))

test('one agent has 64 calls open at most, another is not held up, and a closed call makes room', async () => {
  const { open } = await aDoor()
  const held = Array.from({ length: 64 }, () => open('greedy'))
  await Promise.all(held.map((call) => new Promise((resolve) => call.once('socket', resolve))))
  await new Promise((resolve) => setTimeout(resolve, 100))

  expect(await statusOf(open('greedy'))).toBe(429)
  const other = open('modest')
  other.end('}')
  expect(await statusOf(other)).toBe(200)

  held[0]?.destroy()
  await expect
    .poll(() => {
      const next = open('greedy')
      next.end('}')
      return statusOf(next)
    })
    .toBe(200)
})

test('a stranger is refused before its body is read (lesson 14)', async () => {
  const { open } = await aDoor()
  expect(await statusOf(open(''))).toBe(401)
})

test('a client that hangs up in its body leaves no error in the log', async () => {
  const errors: unknown[] = []
  const { open } = await aDoor({ ...silentLog, error: (fields) => void errors.push(fields) })
  const call = open('a')
  await new Promise((resolve) => setTimeout(resolve, 50))
  call.destroy()
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(errors).toEqual([])
})
