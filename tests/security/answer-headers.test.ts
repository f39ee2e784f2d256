import { request } from 'node:http'
import type { IncomingHttpHeaders } from 'node:http'
import process from 'node:process'
import { fillPath } from '@flotilla/protocol/endpoint'
import type { Endpoint } from '@flotilla/protocol/endpoint'
import { headers } from '@flotilla/protocol/headers'
import { webhookPublicEndpoints } from '@flotilla/protocol/webhook-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pageHeaders } from '../../packages/operations/src/dashboard/page-headers.ts'
import { answerHeaders } from '../../packages/identity/src/http/answer-headers.ts'
import { allEndpoints } from '../support/all-endpoints.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'

const isSoak = process.env['FLOTILLA_SOAK'] === '1'

let mesh: MeshProcess
beforeAll(async () => {
  mesh = await startMesh()
})
afterAll(() => mesh.stop())

const params = new Proxy<Record<string, string>>({}, { get: () => 'nobody' })

/** Reads status and headers only, since some answers never end. */
function headOf(
  endpoint: Pick<Endpoint, 'method' | 'path'>,
  more: Record<string, string>,
): Promise<{ status: number; headers: IncomingHttpHeaders }> {
  const url = `${mesh.url}${fillPath(endpoint.path, params)}`
  const body = endpoint.method === 'GET' ? '' : '{}'
  return new Promise((resolve, reject) => {
    const asked = request(
      url,
      {
        method: endpoint.method,
        agent: false,
        headers: {
          [headers.requestedWith]: 'test',
          'content-type': 'application/json',
          'content-length': body.length,
          ...more,
        },
      },
      (reply) => {
        resolve({ status: reply.statusCode ?? 0, headers: reply.headers })
        reply.destroy()
      },
    )
    asked.on('error', reject)
    asked.end(body)
  })
}

describe("every answer of the people's API", () => {
  it('every answer of the API for people has all headers, on every path and for every caller', async () => {
    const endpoints = [...(await allEndpoints()).values()]
    const statuses = new Set<number>()
    const manners: readonly Record<string, string>[] = [
      { [headers.meshInternal]: '1' },
      { host: 'evil.example' },
      { origin: 'https://evil.example' },
      { authorization: 'Bearer x' },
      { [headers.requestedWith]: '' },
      { 'content-type': 'text/html' },
      { accept: 'text/event-stream' },
    ]
    for (const [index, endpoint] of endpoints.entries()) {
      // With all long proofs each endpoint gets every variant; otherwise one variant each, in turn.
      const some = isSoak ? manners : manners.slice(index % manners.length).slice(0, 1)
      for (const more of [{}, ...some]) {
        const answer = await headOf(endpoint, more)
        const isPage =
          answer.status === 200 && answer.headers['content-type']?.startsWith('text/html') === true
        const wanted = isPage ? { ...answerHeaders, ...pageHeaders } : answerHeaders
        expect(answer.headers, `${endpoint.method} ${endpoint.path}`).toMatchObject(wanted)
        statuses.add(answer.status)
      }
    }
    // The walk reached the handlers, and was not only refused at the gates.
    expect([...statuses]).toEqual(expect.arrayContaining([200, 400, 401, 403, 404]))
    expect(endpoints.length).toBeGreaterThan(80)
  })

  it("every answer of the people's API has them where strangers deliver", async () => {
    const answer = await headOf(webhookPublicEndpoints.webhookReceive, { 'x-webhook-signature': 'x' })
    expect(answer).toMatchObject({ status: 404, headers: answerHeaders })
  })
})
