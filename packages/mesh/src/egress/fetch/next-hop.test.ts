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
  test.each([200, 204, 300, 304, 305, 306, 309, 400])('such as %i asks for no other request', (status) => {
    expect(nextHop(request(), status, '/next')).toBe(null)
  })

  test.each([undefined, 'http://[', 'https://'])('such as one to %j asks for none', (location) => {
    expect(nextHop(request(), 302, location)).toBe(null)
  })
})

describe('a redirect', () => {
  test.each([
    ['/next#part', 'https://api.example.org/next'],
    ['next?x', 'https://api.example.org/a/next?x'],
    ['//other.example/', 'https://other.example/'],
  ])('to %s leads to %s', (location, href) => {
    expect(nextHop(request(), 307, location)?.url.href).toBe(href)
  })

  test.each([301, 302, 303])(
    'by %i asks for the page, and sends the body to nobody a second time',
    (status) => {
      const next = nextHop(request(), status, '/next')
      expect(next).toMatchObject({ method: 'GET', body: '' })
      expect(Object.keys(next?.headers ?? {})).toEqual(['accept', 'x-api-key', 'cookie'])
    },
  )

  test('by 303 leaves out what speaks of the body, in any letters, and nothing that only sounds like it', () => {
    const headers = { 'Content-Language': 'a', 'x-content-id': 'b', content: 'c' }
    expect(nextHop(request({ headers }), 303, '/next')?.headers).toEqual({
      'x-content-id': 'b',
      content: 'c',
    })
  })

  test.each([307, 308])('by %i asks the same again', (status) => {
    const next = nextHop(request(), status, '/next')
    expect(next).toMatchObject({ method: 'POST', body: 'words', headers: request().headers })
  })

  test.each(['GET', 'HEAD'])('leaves %s what it is', (method) => {
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
  ])('such as the header %s does not go along to another origin', (name) => {
    const asked = request({ headers: { [name]: 'v', accept: 'a' } })
    expect(nextHop(asked, 307, toElsewhere)?.headers).toEqual({ accept: 'a' })
    expect(nextHop(asked, 307, '/here')?.headers).toEqual({ [name]: 'v', accept: 'a' })
  })

  test.each(['http://api.example.org/', 'https://api.example.org:8443/', 'https://example.org/'])(
    'stays behind for %s: another scheme, port or host is another origin',
    (location) => {
      expect(nextHop(request(), 307, location)?.headers).not.toHaveProperty('x-api-key')
    },
  )

  test('stays behind whatever its name, where a credential filled it', () => {
    const carried = { ...carriesNothing, headers: ['x-plain'] }
    const asked = request({ headers: { 'x-plain': 'filled', accept: 'a' }, carried })
    expect(nextHop(asked, 307, toElsewhere)).toMatchObject({ headers: { accept: 'a' }, carried: null })
    expect(nextHop(asked, 307, '/here')).toMatchObject({ headers: { 'x-plain': 'filled' }, carried })
  })

  test('in a body stops the redirect that would send it on, and only that one', () => {
    const asked = request({ carried: { ...carriesNothing, body: true } })
    const refused = expect.objectContaining({
      code: 'credential-refused',
      detail: expect.stringContaining('other.example'),
    })
    expect(() => nextHop(asked, 307, toElsewhere)).toThrow(refused)
    // Turned into GET the body is gone, and at home it may go again.
    expect(nextHop(asked, 303, toElsewhere)).toMatchObject({ method: 'GET', body: '' })
    expect(nextHop(asked, 307, '/here')?.body).toBe('words')
  })

  test('in the address that a server answers with stops the redirect, so that no key is sent on by asking', () => {
    const asked = request({ carried: { ...carriesNothing, isIn: (text) => text.includes('sesame') } })
    expect(() => nextHop(asked, 302, `${toElsewhere}?k=sesame`)).toThrow(
      expect.objectContaining({ code: 'credential-refused' }),
    )
    expect(nextHop(asked, 302, toElsewhere)?.url.href).toBe(toElsewhere)
    expect(nextHop(asked, 302, '/here?k=sesame')?.url.href).toBe('https://api.example.org/here?k=sesame')
  })
})
