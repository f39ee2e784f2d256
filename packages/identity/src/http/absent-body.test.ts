import { peopleAdminApi, peopleAdminEndpoints } from '@flotilla/protocol/people-api'
import { expect, onTestFinished, test } from 'vitest'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { createBinder } from './bind-endpoint.ts'
import { createServer } from './server.ts'

function aServer() {
  const server = createServer(silentLog)
  const bind = createBinder(server)
  const taken: unknown[] = []
  bind(peopleAdminEndpoints.personRotate, { request: peopleAdminApi.personRotate.request }, ({ body }) => {
    taken.push(body)
    return {}
  })
  bind(peopleAdminEndpoints.proofGive, { request: peopleAdminApi.proofGive.request }, () => ({}))
  onTestFinished(() => server.close())
  return { server, taken }
}

const json = { 'content-type': 'application/json' }

test.each([
  ['none', {}, undefined],
  ['none, with its length', { 'content-length': '0' }, undefined],
  ['none, called JSON', json, undefined],
  ['none, called JSON, with its length', { ...json, 'content-length': '0' }, undefined],
  ['an empty one, in pieces', { ...json, 'transfer-encoding': 'chunked' }, ''],
  ['an object without fields', json, '{}'],
])('a body whose fields may all be left out may be left out itself: %s', async (_what, headers, payload) => {
  const { server, taken } = aServer()
  const sent = payload === undefined ? {} : { payload }
  const reply = await server.inject({ method: 'POST', url: '/api/people/ann/token', headers, ...sent })
  expect([reply.statusCode, taken]).toEqual([200, [{}]])
})

test('a body that is left out where a field is wanted is refused with the name of the field', async () => {
  const { server } = aServer()
  for (const headers of [{}, json]) {
    const reply = await server.inject({ method: 'POST', url: '/api/proof', headers })
    expect(reply.statusCode).toBe(400)
    expect(reply.json()).toMatchObject({ code: 'bad-request', detail: expect.stringContaining('body.code') })
  }
})
