import { headers } from '@flotilla/protocol/headers'
import { webhookApi, webhookEndpoints } from '@flotilla/protocol/webhook-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { agentSurroundings } from '../support/agent-surroundings.ts'
import { httpCall } from '../support/http-call.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { addDoorToken } from '../support/own-token.ts'
import { expectProblem } from '../support/problem-matcher.ts'
import { verifies } from '../verifies.ts'

let mesh: MeshProcess
beforeAll(async () => {
  mesh = await startMesh()
  await mesh.createWorker('ann')
  for (const id of ['ann', 'operator']) await mesh.invoke(id, 'list_files', {})
})
afterAll(() => mesh.stop())

const body = { name: 'builds', agent_id: 'operator', signed: false }
const make = (more: Record<string, string> = {}) =>
  mesh.call(webhookEndpoints.webhookCreate, { body, headers: more })
const hooks = async () =>
  webhookApi.webhooks.response.parse((await mesh.call(webhookEndpoints.webhooks)).json()).webhooks

describe('a webhook', () => {
  it('a webhook can be created only by a person at the terminal or the dashboard', async () => {
    verifies('resources:webhook:created-in-dashboard', 'endpoints:webhook:created-in-dashboard')
    const { method, path } = webhookEndpoints.webhookCreate
    for (const id of ['ann', 'operator']) {
      const { api, programToken } = await agentSurroundings(mesh, id)
      for (const token of [addDoorToken(mesh.home, id), programToken]) {
        const authorization = `Bearer ${token}`
        // The agent API has no such path, and the people's API does not accept agents.
        const more = { authorization, 'content-type': 'application/json', [headers.meshInternal]: '1' }
        const own = { method, url: `${api}${path}`, headers: more, body: JSON.stringify(body) }
        expectProblem(await httpCall(own), 'not-found')
        expectProblem(await make({ authorization }), 'unauthenticated')
        expectProblem(await make({ 'x-api-key': token }), 'unauthenticated')
      }
    }
    expectProblem(await make({ 'x-forwarded-for': '192.0.2.1' }), 'host-refused')
    expectProblem(await make({ origin: 'https://evil.example' }), 'host-refused')
    expectProblem(await make({ [headers.requestedWith]: '' }), 'denied')
    expect(await hooks()).toEqual([])
    // The channel of a caller names rows of the audit log; both channels are of the same person.
    for (const more of [{ 'user-agent': 'flotilla-cli/1' }, {}]) {
      const made = await make(more)
      expect(made.status, made.text).toBe(200)
    }
    expect(await hooks()).toHaveLength(2)
  })
})
