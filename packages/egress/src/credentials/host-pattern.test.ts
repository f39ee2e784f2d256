import { describe, expect, test } from 'vitest'
import { coverageOf, hostMatches, originOf, parseHostPattern, patternFor } from './host-pattern.ts'

const goes = (pattern: string, url: string) => {
  const parsed = parseHostPattern(pattern)
  if (!parsed) throw new Error(`${pattern} is no pattern`)
  return hostMatches(parsed, new URL(url))
}

describe('a host pattern', () => {
  test.each([
    ['api.example.org', 'https://api.example.org/x?y'],
    ['API.Example.org', 'https://api.EXAMPLE.org./'],
    ['api.example.org:443', 'https://api.example.org/'],
    ['https://api.example.org', 'https://api.example.org:443/'],
    ['api.example.org:8443', 'https://api.example.org:8443/'],
    ['http://nas.lan:5000', 'http://nas.lan:5000/'],
    ['http://nas.lan', 'http://nas.lan/'],
    ['HTTP://nas.lan', 'http://nas.lan/'],
    ['api.example.org/', 'https://api.example.org/x'],
    ['http://nas.lan:443', 'http://nas.lan:443/'],
    ['*.example.org', 'https://a.b.example.org/'],
    ['*.xn--bcher-kva.example', 'https://www.bücher.example/'],
    ['*.home.x', 'https://a.home.x/'],
    ['*.nas.2go', 'https://a.nas.2go/'],
    ['http://*.nas.lan:5000', 'http://a.nas.lan:5000/'],
    ['[::1]:8080', 'https://[::1]:8080/'],
    ['192.168.1.4', 'https://0xc0a80104/'],
    ['bücher.example', 'https://xn--bcher-kva.example/'],
  ])('%s lets a request to %s have it', (pattern, url) => {
    expect(goes(pattern, url)).toBe(true)
  })

  test.each([
    ['api.example.org', 'http://api.example.org/'],
    ['api.example.org', 'https://api.example.org:8443/'],
    ['api.example.org', 'https://example.org/'],
    ['api.example.org', 'https://x.api.example.org/'],
    ['api.example.org', 'https://api.example.org.evil.example/'],
    ['api.example.org', 'https://evil.example/api.example.org'],
    ['api.example.org', 'https://api.example.org@evil.example/'],
    ['*.example.org', 'https://example.org/'],
    ['*.example.org', 'https://evilexample.org/'],
    ['*.example.org', 'https://a.example.org:8443/'],
    ['http://nas.lan:5000', 'https://nas.lan:5000/'],
    ['http://nas.lan:5000', 'http://nas.lan/'],
    ['http://nas.lan', 'http://nas.lan:443/'],
    ['nas.lan', 'https://nas.lan:80/'],
  ])('%s keeps it from %s', (pattern, url) => {
    expect(goes(pattern, url)).toBe(false)
  })

  test.each([
    ['nas.lan', { scheme: 'https', host: 'nas.lan', below: false, port: 443 }],
    ['http://nas.lan', { scheme: 'http', host: 'nas.lan', below: false, port: 80 }],
    ['HTTPS://*.Nas.LAN.:8443/', { scheme: 'https', host: 'nas.lan', below: true, port: 8443 }],
  ])('%s is read with the port that its scheme has where none is written', (text, pattern) => {
    expect(parseHostPattern(text)).toEqual(pattern)
  })

  test.each([
    '',
    '*',
    '*.',
    '*.org',
    '*.*.example.org',
    'a*.example.org',
    'api.example.org/path',
    'ftp://x.example',
    'a@b.example',
    'https://',
    'x.example?q',
    'x.example#h',
    'two words',
    '*.[::1]',
    '*.192.168.1.1',
    'x:99999',
    '.',
    '*.10.1',
    'api.example.org//',
    'see https://api.example.org',
    ' api.example.org',
    'api.example.org ',
    'api.example.org\\x',
    'x.example%2e',
  ])('%j is not a host pattern', (text) => {
    expect(parseHostPattern(text)).toBe(null)
  })

  test.each([
    ['api.example.org', 'https://api.example.org', 'https://api.example.org'],
    ['api.example.org:8443', 'https://api.example.org:8443', 'https://api.example.org:8443'],
    ['http://nas.lan', 'http://nas.lan', 'http://nas.lan'],
    ['http://nas.lan:443', 'http://nas.lan:443', 'http://nas.lan:443'],
    ['*.example.org', null, 'https://*.example.org'],
    ['http://*.nas.lan:5000', null, 'http://*.nas.lan:5000'],
    ['[::1]:8080', 'https://[::1]:8080', 'https://[::1]:8080'],
  ])('%s has the origin %s and covers %s', (text, origin, covers) => {
    const pattern = parseHostPattern(text)!
    expect(originOf(pattern)).toBe(origin)
    expect(coverageOf(pattern)).toBe(covers)
  })

  test.each([
    ['https://api.example.org/x?y', 'api.example.org'],
    ['https://api.example.org:8443/', 'api.example.org:8443'],
    ['http://127.0.0.1:5000/x', 'http://127.0.0.1:5000'],
    ['http://nas.lan/', 'http://nas.lan'],
  ])(
    'the pattern that a person is offered for %s is %s, which lets it have the credential',
    (url, pattern) => {
      expect(patternFor(new URL(url))).toBe(pattern)
      expect(goes(patternFor(new URL(url)), url)).toBe(true)
    },
  )
})
