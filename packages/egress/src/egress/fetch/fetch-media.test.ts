import { policyOf } from '../../../../testing/src/policy-of.ts'
import { allowedEffects } from '../../../../testing/src/allowed-effects.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, onTestFinished, test } from 'vitest'
import { collectJournal } from '../../../../../tests/support/collected-ports.ts'
import { createManualClock } from '../../../../protocol/src/testing/manual-clock.ts'
import { startWebServer } from '../../../../../tests/support/web-server.ts'
import type { Caller } from '../../../../identity/src/access/caller.ts'
import { systemClock } from '../../../../foundation/src/platform/system-clock.ts'
import { isPublicAddress } from '../policy/public-addresses.ts'
import { createFetchMedia, fetchMediaBounds } from './fetch-media.ts'
import type { FetchMediaDeps } from './fetch-media.ts'
import { createPinnedFetch } from './pinned-fetch.ts'
import { agentShareLimits } from '@flotilla/foundation/intake'

const scout: Caller = { kind: 'agent', agentId: 'scout', token: 'program', run: null }
const other: Caller = { ...scout, agentId: 'other' }

async function aWay(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  more: Partial<FetchMediaDeps> = {},
) {
  const web = await startWebServer(answer)
  onTestFinished(() => web.close())
  const journal = collectJournal()
  const requests: string[] = []
  const taken: string[] = []
  const fetchMedia = createFetchMedia({
    guard: () => {},
    checkEffect: allowedEffects,
    rate: { take: (agentId) => void taken.push(agentId) },
    fetchFor: (agentId) =>
      createPinnedFetch({
        resolve: async (name) => {
          requests.push(`${agentId} ${name}`)
          return [{ address: name === 'inside.test' ? '10.0.0.1' : '127.0.0.1', family: 4 }]
        },
        isAllowed: (address) => address === '127.0.0.1' || isPublicAddress(address),
        allowedPorts: [web.port, 80],
      }),
    journal,
    clock: systemClock,
    holdLease: () => () => {},
    ...more,
  })
  const get = (
    path: string,
    { maxBytes = 1000, caller = scout, signal = new AbortController().signal } = {},
  ) => fetchMedia(caller, { url: `http://site.test:${web.port}${path}`, maxBytes }, signal)
  return { web, get, fetchMedia, journal, asked: requests, taken }
}

const sends = (bytes: string) => (_request: IncomingMessage, response: ServerResponse) =>
  void response.end(bytes)

describe('a picture that a prompt names by its address', () => {
  test('a fetched file is counted while it arrives and aborted if there is no room for it', async () => {
    const { web, fetchMedia } = await aWay(sends('x'.repeat(500)))
    const asked = { url: `http://site.test:${web.port}/a.png`, maxBytes: 1000 }
    const { signal } = new AbortController()
    let kept = 0
    await fetchMedia(scout, { ...asked, hold: (bytes) => void (kept += bytes) }, signal)
    expect(kept).toBe(500)
    const hold = () => {
      throw new Problem('rate-limited', { detail: 'too much is kept' })
    }
    await expect(fetchMedia(scout, { ...asked, hold }, signal)).rejects.toMatchObject({
      code: 'rate-limited',
      detail: 'too much is kept',
    })
  })

  test('a file is fetched for its agent, counted and logged, without any data of the agent', async () => {
    const { web, get, journal, asked, taken } = await aWay(sends('bytes'))
    expect(Buffer.from(await get('/a.png')).toString()).toBe('bytes')
    expect(asked).toEqual(['scout site.test'])
    expect(taken).toEqual(['scout'])
    expect(web.requests).toHaveLength(1)
    expect(web.requests[0]).toMatchObject({ method: 'GET', url: '/a.png', body: '' })
    expect(Object.keys(web.requests[0]?.headers ?? {}).toSorted()).toEqual([
      'accept',
      'accept-encoding',
      'connection',
      'host',
    ])
    expect(journal.entries).toMatchObject([
      {
        actor: 'agent:scout',
        action: 'http.requested',
        detail: { method: 'GET', for: 'model', status: 200, bytes: 5 },
      },
    ])
  })

  test('a file is not requested without the permission, nor above the rate', async () => {
    const guard = () => {
      throw new Problem('denied', { detail: 'http is not among its APIs' })
    }
    const denied = await aWay(sends('bytes'), { guard })
    await expect(denied.get('/')).rejects.toMatchObject({ code: 'denied' })
    const rate = {
      take: () => {
        throw new Problem('rate-limited', { retryAfterSeconds: 9 })
      },
    }
    const limited = await aWay(sends('bytes'), { rate })
    await expect(limited.get('/')).rejects.toMatchObject({ code: 'rate-limited' })
    expect([...denied.web.requests, ...limited.web.requests]).toEqual([])
  })

  test('a file is not fetched from private addresses, directly or by a redirect', async () => {
    const { web, get, fetchMedia } = await aWay((_request, response) =>
      response.writeHead(302, { location: 'http://inside.test/' }).end(),
    )
    const asked = { url: 'http://inside.test/', maxBytes: 10 }
    await expect(fetchMedia(scout, asked, new AbortController().signal)).rejects.toMatchObject({
      code: 'address-refused',
    })
    await expect(get('/')).rejects.toMatchObject({ code: 'address-refused' })
    expect(web.requests).toHaveLength(1)
  })

  test('a fetched file is limited in size and time, and its status must be successful', async () => {
    const large = await aWay(sends('x'.repeat(1001)))
    await expect(large.get('/')).rejects.toMatchObject({ code: 'bad-request' })
    const gone = await aWay((_request, response) => response.writeHead(404).end('nothing'))
    await expect(gone.get('/')).rejects.toThrow('answers with status 404')
    const clock = createManualClock()
    const slow = await aWay((_request, response) => void response.write('x'), { clock })
    const waiting = slow.get('/').catch((error: unknown) => error)
    await expect.poll(() => slow.web.requests.length).toBe(1)
    await clock.advance(fetchMediaBounds.timeoutMs)
    expect(await waiting).toMatchObject({ code: 'upstream-timeout' })
  })

  test('concurrent fetches are limited for each agent and in total', async () => {
    const waiting: ServerResponse[] = []
    const { get } = await aWay((_request, response) => void waiting.push(response))
    const some = Array.from({ length: agentShareLimits.mediaFetches.perAgentMax }, () => get('/'))
    await expect(get('/')).rejects.toMatchObject({ code: 'rate-limited', retryAfterSeconds: 5 })
    some.push(get('/', { caller: other }))
    await expect.poll(() => waiting.length).toBe(some.length)
    for (const response of waiting) response.end('x')
    await Promise.all(some)
    const next = get('/')
    await expect.poll(() => waiting.length).toBe(some.length + 1)
    waiting.at(-1)?.end('x')
    await next
  })
})

test('a picture at a host that the policy denies is not fetched, also behind a redirect', async () => {
  const policy = 'rules:\n  - { name: no, match: { host: denied.test }, verdict: deny, reason: No. }\n'
  const { web, fetchMedia, asked } = await aWay(
    (_request, response) => {
      response.writeHead(302, { location: `http://denied.test:${web.port}/x` })
      response.end()
    },
    { checkEffect: policyOf(policy) },
  )
  const { signal } = new AbortController()
  const get = (host: string) =>
    fetchMedia(scout, { url: `http://${host}:${web.port}/x`, maxBytes: 9 }, signal)
  await expect(get('denied.test')).rejects.toMatchObject({ code: 'policy-denied' })
  expect(asked).toEqual([])
  await expect(get('site.test')).rejects.toMatchObject({ code: 'policy-denied' })
  expect(asked).toEqual(['scout site.test'])
})
