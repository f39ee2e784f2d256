import { createHmac } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { describe, expect, test } from 'vitest'
import { createHumanGate } from './gate.ts'

const nowMs = 1_700_000_000_000

function gateWith(accessToken: string | null) {
  return createHumanGate({
    clock: { now: () => nowMs, sleep: async () => {} },
    accessToken: () => accessToken,
    port: () => 8420,
  })
}

/** As far as the gate looks at a request. */
function aRequest(headers: Record<string, string> = {}, method = 'GET', remoteAddress = '127.0.0.1') {
  const request = { method, headers: { host: '127.0.0.1:8420', ...headers }, socket: { remoteAddress } }
  return request as unknown as FastifyRequest
}

function cookieOf(token: string): string {
  const key = createHmac('sha256', token).update('ol-cookie-signing').digest()
  const expiry = String(nowMs / 1000 + 600)
  return `ol_session=${expiry}.${createHmac('sha256', key).update(expiry).digest('hex')}`
}

describe('without an access token file', () => {
  test('a direct call from this machine is let in', () => {
    expect(gateWith(null)(aRequest())).toEqual({ kind: 'human', channel: 'api' })
  })

  test.each([
    ['another machine', 'unauthenticated', aRequest({}, 'GET', '192.0.2.1')],
    ['a foreign Host', 'host-refused', aRequest({ host: 'evil.example:8420' })],
    ['a proxy in between', 'host-refused', aRequest({ 'x-forwarded-for': '192.0.2.1' })],
    ['a page of another origin', 'host-refused', aRequest({ origin: 'http://evil.example' })],
    ['a page of no origin', 'host-refused', aRequest({ origin: 'null' })],
    ['a write without the header that no form can send', 'denied', aRequest({}, 'POST')],
  ])('%s is refused as %s', (_who, code, request) => {
    expect(() => gateWith(null)(request)).toThrow(expect.objectContaining({ code }))
  })
})

describe('with an access token file', () => {
  test('its cookie is let in, through a proxy too', () => {
    const request = aRequest({ cookie: cookieOf('token'), 'x-forwarded-for': '192.0.2.1' })
    expect(gateWith('token')(request)).toMatchObject({ kind: 'human' })
  })

  test('loopback alone is not enough, nor is the cookie of another token', () => {
    const refused = expect.objectContaining({ code: 'unauthenticated' })
    expect(() => gateWith('token')(aRequest())).toThrow(refused)
    expect(() => gateWith('token')(aRequest({ cookie: cookieOf('other') }))).toThrow(refused)
  })

  test('an empty file lets nobody in, also not with a cookie that its emptiness signed', () => {
    expect(() => gateWith('')(aRequest({ cookie: cookieOf('') }))).toThrow(
      expect.objectContaining({ code: 'unauthenticated' }),
    )
  })
})
