import { request } from 'node:http'
import { Problem } from '@flotilla/protocol/problem'
import { expect, onTestFinished, test } from 'vitest'
import { silentLog } from '../../../../foundation/src/platform/log.ts'
import type { Caller } from '../../access/caller.ts'
import { createServer } from '../server.ts'
import { openInternal } from '../open-surfaces.ts'
import type { Routes } from '../routes.ts'

/**
 * A server with an operator route whose first gate admits the given caller, and the callers that the route
 * received.
 */
async function aServer(caller: Caller, refusal: Problem | null = null) {
  const server = createServer(silentLog)
  onTestFinished(() => server.close())
  const callers: Caller[] = []
  const routes: Routes = {
    operatorOrInternal: ({ bind }) =>
      bind({ method: 'POST', path: '/x', summary: 'Tried' }, {}, (request) => {
        callers.push(request.caller)
        return {}
      }),
  }
  openInternal(server, [{ routes }], () => {
    if (refusal) throw refusal
    return caller
  })
  return { url: await server.listen({ port: 0, host: '127.0.0.1' }), callers }
}

/** The status of a call; without `body` the announced body never arrives. */
function statusOf(url: string, body?: string): Promise<number | undefined> {
  const call = request(`${url}/x`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': 2 },
  })
  onTestFinished(() => void call.destroy())
  call.on('error', () => {})
  if (body === undefined) call.flushHeaders()
  else call.end(body)
  return new Promise((resolve) => call.once('response', (reply) => resolve(reply.resume().statusCode)))
}

const agent = (agentId: string, token: 'door' | 'program'): Caller => ({
  kind: 'agent',
  agentId,
  token,
  run: null,
})
const internal: Caller = { kind: 'internal' }

test.each<[string, Caller, number]>([
  ['the operator’s own process', agent('operator', 'door'), 200],
  ['a program of this machine', internal, 200],
  ['a program that the operator runs', agent('operator', 'program'), 403],
  ['a worker', agent('worker', 'door'), 403],
  ['a person', { kind: 'human', role: 'owner', channel: 'cli' }, 403],
])('%s is answered as zone 2.5 says, whatever its record allows', async (_who, caller, status) => {
  const { url, callers } = await aServer(caller)
  expect(await statusOf(url, '{}')).toBe(status)
  expect(callers).toEqual(status === 200 ? [caller] : [])
})

test('a caller without access is answered before a body is read', async () => {
  const { url } = await aServer(internal, new Problem('unauthenticated'))
  expect(await statusOf(url)).toBe(401)
})
