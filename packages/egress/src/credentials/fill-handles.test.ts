import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { destinationOf, fillRequest, namesInRequest } from './fill-handles.ts'

const values: Readonly<Record<string, string>> = {
  token: 'tok/en?&=#%+ü"<',
  user: 'ann:x',
  tricky: '$CRED{token} ${x} $1 $& `',
}
const valueOf = (name: string) => values[name] ?? ''
const fill = (request: { url?: string; headers?: Record<string, string>; body?: string }) =>
  fillRequest({ url: 'https://api.test/', headers: {}, body: '', ...request }, valueOf)

describe('filling handles', () => {
  test('filling handles encodes a value for its place in a URL', () => {
    const { url } = fill({ url: 'https://api.test/a/$CRED{token}/b?key=$CRED{TOKEN}&x=1#$CRED{token}' })
    expect(url.pathname.split('/')).toHaveLength(4)
    expect(decodeURIComponent(url.pathname)).toBe(`/a/${values['token']}/b`)
    expect(url.searchParams.get('key')).toBe(values['token'])
    expect([...url.searchParams.keys()]).toEqual(['key', 'x'])
    expect(url.hash).toBe('')
  })

  test('filling handles makes Basic authorization of a user name and password', () => {
    const filled = fill({ url: 'https://me%40x:$CRED{token}@api.test/p' })
    expect(filled.url.href).toBe('https://api.test/p')
    const [, encoded = ''] = (filled.headers['authorization'] ?? '').split(' ')
    expect(Buffer.from(encoded, 'base64').toString()).toBe(`me@x:${values['token']}`)
    expect(filled.filledHeaders).toEqual(['authorization'])
    expect(() => fill({ url: 'https://$CRED{token}@api.test/', headers: { authorization: 'x' } })).toThrow(
      expect.objectContaining({ code: 'bad-request' }),
    )
    expect(() => fill({ url: 'https://%zz:$CRED{token}@api.test/' })).toThrow(
      expect.objectContaining({ code: 'bad-request' }),
    )
  })

  test.each([
    ['application/json', '{"a":"$CRED{token}","$CRED{token}":1}'],
    ['', '{"a":"$CRED{token}","$CRED{token}":1}'],
    ['application/problem+json; charset=utf-8', '{"a":"$CRED{token}","$CRED{token}":1}'],
  ])('filling handles keeps JSON whole under the content type %j', (type, body) => {
    const { body: filled } = fill({ body, headers: type === '' ? {} : { 'content-type': type } })
    expect(JSON.parse(filled)).toEqual({ a: values['token'], [values['token'] ?? '']: 1 })
  })

  test('filling handles keeps forms and XML whole, and other texts as they are', () => {
    const typed = (type: string, body: string) => fill({ body, headers: { 'content-type': type } }).body
    expect([
      ...new URLSearchParams(typed('application/x-www-form-urlencoded', 'a=$CRED{token}&b=1')),
    ]).toEqual([
      ['a', values['token']],
      ['b', '1'],
    ])
    expect(typed('application/soap+xml', '<a b="$CRED{token}"/>')).toBe(
      '<a b="tok/en?&#38;=#%+ü&#34;&#60;"/>',
    )
    expect(typed('text/plain', 'a $CRED{token}')).toBe(`a ${values['token']}`)
  })

  test('filling handles never reads a value again that looks like a handle or a pattern', () => {
    expect(fill({ headers: { a: 'x $CRED{tricky} y' } }).headers['a']).toBe(`x ${values['tricky']} y`)
    expect(fill({ body: '$CRED{tricky}$CRED{user}' }).body).toBe(`${values['tricky']}${values['user']}`)
  })

  test('filling handles knows which headers it filled, and whether the body', () => {
    const filled = fill({ headers: { a: '$CRED{user}', b: 'plain' }, body: 'plain' })
    expect([filled.filledHeaders, filled.filledBody]).toEqual([['a'], false])
    expect(fill({ body: '$CRED{user}' }).filledBody).toBe(true)
  })

  test.each([
    'https://$CRED{token}/',
    'https://$CRED{token}.evil.test/',
    'https://api.$CRED{token}/',
    'https://api.test:$CRED{token}/',
    '$CRED{token}://api.test/',
    '$CRED{token}',
    'https://x@$CRED{token}/',
    'https://api.test/\n$CRED{token}',
    'no address',
  ])('filling handles refuses %j: a handle is no part of where a request goes', (url) => {
    expect(() => destinationOf(url)).toThrow(expect.objectContaining({ code: 'bad-request' }))
  })

  test.each([
    '$CRED{$CRED{token}}',
    '$CRED{to ken}',
    '$CRED{}',
    '$CRED{token',
    '$CRED{../token}',
    '$CRED{tok\nen}',
    '$CRED{ token}',
    '$CRED{tökén}',
    `$CRED{${'x'.repeat(129)}}`,
  ])('filling handles refuses the begun handle %j anywhere', (text) => {
    for (const request of [
      { url: `https://api.test/${text}`, headers: {}, body: '' },
      { url: 'https://api.test/', headers: { a: text }, body: '' },
      { url: 'https://api.test/', headers: {}, body: text },
    ])
      expect(() => namesInRequest(request)).toThrow(expect.objectContaining({ code: 'bad-request' }))
  })

  test.each(['$cred{token}', '$CRED(token)', '%24CRED%7Btoken%7D', '\\u0024CRED{token}', '$ CRED{token}'])(
    'filling handles leaves %j alone: it is no handle',
    (text) => {
      const request = { url: 'https://api.test/', headers: {}, body: text }
      expect(namesInRequest(request)).toEqual([])
      expect(fillRequest(request, valueOf).body).toBe(text)
    },
  )

  test('filling handles refuses a value in a header that is no plain line of text', () => {
    expect(() =>
      fillRequest({ url: 'https://a.test/', headers: { a: '$CRED{x}' }, body: '' }, () => 'a\r\nb: c'),
    ).toThrow(expect.objectContaining({ code: 'bad-request' }))
  })

  test('filling handles refuses more handles than a request has use for', () => {
    const request = { url: 'https://api.test/', headers: {}, body: '$CRED{token}'.repeat(65) }
    expect(() => namesInRequest(request)).toThrow(expect.objectContaining({ code: 'bad-request' }))
  })

  test('filling handles takes as many handles as a request may have, and names each credential once, in their order', () => {
    const request = {
      url: 'https://api.test/$CRED{Token}',
      headers: { a: '$CRED{user} $CRED{token}' },
      body: '$CRED{tricky}'.repeat(61),
    }
    expect(namesInRequest(request)).toEqual(['token', 'user', 'tricky'])
    expect(() => namesInRequest({ ...request, body: `${request.body}$CRED{token}` })).toThrow(
      expect.objectContaining({ code: 'bad-request', detail: expect.stringContaining('64') as string }),
    )
  })

  test('filling handles writes what servers could read as their own in an address, and half letters, as escapes too', () => {
    const request = { url: 'https://a.test/$CRED{x}?$CRED{x}', headers: {}, body: '' }
    expect(fillRequest(request, () => "a!'()*\ud800").url.href).toBe(
      'https://a.test/a%21%27%28%29%2A%EF%BF%BD?a%21%27%28%29%2A%EF%BF%BD',
    )
  })

  test('filling handles fills every handle of a part, each once', () => {
    const { url } = fill({ url: 'https://api.test/$CRED{user}/$CRED{user}?a=$CRED{user}&b=$CRED{user}' })
    expect(url.href).toBe('https://api.test/ann%3Ax/ann%3Ax?a=ann%3Ax&b=ann%3Ax')
  })

  test('filling handles keeps XML whole whatever the value', () => {
    const xml = { url: 'https://a.test/', headers: { 'content-type': 'text/xml' }, body: '<a>$CRED{x}</a>' }
    expect(fillRequest(xml, () => `&<>"'`).body).toBe('<a>&#38;&#60;&#62;&#34;&#39;</a>')
  })

  test('filling handles treats a user name alone as one without a password, and leaves a plain one in place', () => {
    const filled = fill({ url: 'https://$CRED{user}@api.test/' })
    expect(filled.headers['authorization']).toBe(`Basic ${Buffer.from('ann:x:').toString('base64')}`)
    const plain = fill({ url: 'https://ann:x@api.test/$CRED{user}' })
    expect([plain.url.username, plain.url.password, plain.headers]).toEqual(['ann', 'x', {}])
    expect(plain.filledHeaders).toEqual([])
  })

  test('filling handles ignores the fragment of a URL, which is never sent', () => {
    expect(destinationOf('https://api.test/a?$CRED{token}#part').hash).toBe('')
    expect(destinationOf('https://api.test/a#$CRED{token}').host).toBe('api.test')
  })

  test('filling handles accepts line ends in a URL without handles, where the parser drops them', () => {
    expect(destinationOf('https://api.test/a\nb').pathname).toBe('/ab')
  })

  test.each([
    ['by what parsers drop', 'https://api.test/han\tdleq0q', 'https://api.test/handleq0q'],
    ['in other letters', 'https://HANDLEQ0Q.test/', 'https://handleq0q.test/'],
  ])('filling handles is not asked for by an address that imitates a place-holder %s', (_how, url, href) => {
    const asked: string[] = []
    const filled = fillRequest({ url, headers: {}, body: '' }, (name) => {
      asked.push(name)
      return 'x'
    })
    expect([filled.url.href, asked]).toEqual([href, []])
  })

  test.each([
    ['{"a": "$CRED{x}"', 'cut short'],
    ['$CRED{x} {"a": 1}', 'after something else'],
    ['a: [$CRED{x}]', 'of another kind'],
    ['"[$CRED{x}]"', 'one text alone'],
  ])('filling handles takes %j for no JSON: it is %s', (body) => {
    expect(fillRequest({ url: 'https://a.test/', headers: {}, body }, () => '"').body).toBe(
      body.replace('$CRED{x}', '"'),
    )
  })

  test('filling handles treats a body that is too large to parse, or that follows white space, as JSON', () => {
    const deep = `${'['.repeat(2000)}"$CRED{x}"${']'.repeat(2000)}`
    for (const body of [deep, ' \n ["$CRED{x}"]'])
      expect(fillRequest({ url: 'https://a.test/', headers: {}, body }, () => '"').body).toContain(
        String.raw`"\""`,
      )
  })

  test('filling handles uses the content type before it inspects the body', () => {
    const request = {
      url: 'https://a.test/',
      headers: { 'content-type': 'text/plain' },
      body: '["$CRED{x}"]',
    }
    expect(fillRequest(request, () => '"').body).toBe('["""]')
  })

  test('filling handles cannot be made to fill elsewhere by an address that imitates its place-holders', () => {
    const urls = fc.webUrl({ withQueryParameters: true })
    fc.assert(
      fc.property(urls, fc.constantFrom('handleq0q', 'handlexq0q', 'HANDLEQ0Q'), (url, word) => {
        const clean = new URL(url)
        clean.pathname += `/${word}`
        const text = `${clean.origin}${clean.pathname}?${word}&k=$CRED{user}`
        const filled = fillRequest({ url: text, headers: {}, body: '' }, valueOf).url
        expect(filled.host).toBe(clean.host)
        expect(filled.pathname).toBe(clean.pathname)
        expect(filled.searchParams.get('k')).toBe(values['user'])
      }),
    )
  })
})
