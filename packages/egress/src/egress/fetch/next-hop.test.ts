import { describe, expect, test } from 'vitest'
import { nextHop } from './next-hop.ts'
import type { PinnedRequest } from './pinned-fetch.ts'

const carriesNothing = { headers: [], body: false, isIn: () => false }

function request(more: Partial<PinnedRequest> = {}): PinnedRequest {
  return {
    url: new URL('https://api.example.org/a/b?c#d'),
    method: 'POST',
    headers: { accept: 'text/plain', 'content-type': 'text/plain', 'x-api-key': 'k', cookie: 'c' },
    body: 'words',
    carried: null,
    ...more,
  }
}

const toElsewhere = 'https://other.example/x'

describe('a reply that is no redirect', () => {
  test.each([200, 204, 300, 304, 305, 306, 309, 400])('status %i is no redirect', (status) => {
    expect(nextHop(request(), status, '/next')).toBe(null)
  })

  test.each([undefined, 'http://[', 'https://'])('a redirect to %j is not followed', (location) => {
    expect(nextHop(request(), 302, location)).toBe(null)
  })
})

describe('a redirect', () => {
  test.each([
    ['/next#part', 'https://api.example.org/next'],
    ['next?x', 'https://api.example.org/a/next?x'],
    ['//other.example/', 'https://other.example/'],
  ])('a redirect to %s leads to %s', (location, href) => {
    expect(nextHop(request(), 307, location)?.url.href).toBe(href)
  })

  test.each([301, 302, 303])('a redirect with %i becomes a GET without the body', (status) => {
    const next = nextHop(request(), status, '/next')
    expect(next).toMatchObject({ method: 'GET', body: '' })
    expect(Object.keys(next?.headers ?? {})).toEqual(['accept', 'x-api-key', 'cookie'])
  })

  test('a redirect with 303 drops headers about the body in any case, and no similar ones', () => {
    const headers = { 'Content-Language': 'a', 'x-content-id': 'b', content: 'c' }
    expect(nextHop(request({ headers }), 303, '/next')?.headers).toEqual({
      'x-content-id': 'b',
      content: 'c',
    })
  })

  test.each([307, 308])('a redirect with %i repeats the same request', (status) => {
    const next = nextHop(request(), status, '/next')
    expect(next).toMatchObject({ method: 'POST', body: 'words', headers: request().headers })
  })

  test.each(['GET', 'HEAD'])('a redirect keeps the method %s', (method) => {
    const next = nextHop(request({ method, body: '' }), 303, '/next')
    expect(next?.method).toBe(method)
    expect(next?.headers).toEqual(request().headers)
  })
})

describe('what may carry a secret', () => {
  test.each([
    'authorization',
    'Proxy-Authorization',
    'cookie',
    'x-access-token',
    'x-api-key',
    'client-secret',
    'x-session-id',
    'x-credential',
    'x-signature',
    'x-password',
    'x-passwd',
    'x-jwt',
  ])('the header %s is dropped on a redirect to another origin', (name) => {
    const asked = request({ headers: { [name]: 'v', accept: 'a' } })
    expect(nextHop(asked, 307, toElsewhere)?.headers).toEqual({ accept: 'a' })
    expect(nextHop(asked, 307, '/here')?.headers).toEqual({ [name]: 'v', accept: 'a' })
  })

  test.each(['http://api.example.org/', 'https://api.example.org:8443/', 'https://example.org/'])(
    'what may carry a secret stays behind for %s: another scheme, port or host is another origin',
    (location) => {
      expect(nextHop(request(), 307, location)?.headers).not.toHaveProperty('x-api-key')
    },
  )

  test('a header that a credential filled is dropped, whatever its name', () => {
    const carried = { ...carriesNothing, headers: ['x-plain'] }
    const asked = request({ headers: { 'x-plain': 'filled', accept: 'a' }, carried })
    expect(nextHop(asked, 307, toElsewhere)).toMatchObject({ headers: { accept: 'a' }, carried: null })
    expect(nextHop(asked, 307, '/here')).toMatchObject({ headers: { 'x-plain': 'filled' }, carried })
  })

  test('a body filled by a credential stops only a redirect that would send it to another origin', () => {
    const asked = request({ carried: { ...carriesNothing, body: true } })
    const refused = expect.objectContaining({
      code: 'credential-refused',
      detail: expect.stringContaining('other.example'),
    })
    expect(() => nextHop(asked, 307, toElsewhere)).toThrow(refused)
    // A redirect that changes the method to GET drops the body; within the origin the body may be sent again.
    expect(nextHop(asked, 303, toElsewhere)).toMatchObject({ method: 'GET', body: '' })
    expect(nextHop(asked, 307, '/here')?.body).toBe('words')
  })

  test('a redirect whose address contains a credential is refused, so that no server can have it sent elsewhere', () => {
    const asked = request({ carried: { ...carriesNothing, isIn: (text) => text.includes('sesame') } })
    expect(() => nextHop(asked, 302, `${toElsewhere}?k=sesame`)).toThrow(
      expect.objectContaining({ code: 'credential-refused' }),
    )
    expect(nextHop(asked, 302, toElsewhere)?.url.href).toBe(toElsewhere)
    expect(nextHop(asked, 302, '/here?k=sesame')?.url.href).toBe('https://api.example.org/here?k=sesame')
  })
})
