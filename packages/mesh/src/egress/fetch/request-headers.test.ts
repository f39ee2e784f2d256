import { wireLimits } from '@flotilla/protocol/limits'
import { describe, expect, test } from 'vitest'
import { checkedHeaders, shownHeaders } from './request-headers.ts'

const refused = (detail: string) =>
  expect.objectContaining({ code: 'bad-request', detail: expect.stringContaining(detail) })

describe('the headers that an agent sets', () => {
  test('have small letters, and their values stay', () => {
    expect(checkedHeaders({ 'X-Api_Key~1': 'a\tb ü' })).toEqual({ 'x-api_key~1': 'a\tb ü' })
  })

  test.each([
    'connection',
    'Transfer-Encoding',
    'upgrade',
    'te',
    'trailer',
    'keep-alive',
    'proxy-authorization',
    'proxy-authenticate',
    'Proxy-Authentication-Info',
    'proxy-connection',
    'http2-settings',
    'accept-encoding',
    'Content-Length',
    'expect',
    'host',
  ])('are never %s: two servers could read one request in two ways', (name) => {
    expect(() => checkedHeaders({ [name]: 'x' })).toThrow(refused(`${name.toLowerCase()} cannot be set`))
  })

  test.each(['', 'a b', 'a:b', 'a\r\nb', 'ä', ' a', 'a '])('have no name such as %j', (name) => {
    expect(() => checkedHeaders({ [name]: 'x' })).toThrow(refused('is not a header name'))
  })

  test('are named in a refusal by no more than a hundred characters', () => {
    expect(() => checkedHeaders({ [`${'a'.repeat(100)} b`]: 'x' })).toThrow(
      refused(`${'a'.repeat(100)} is not`),
    )
  })

  test.each(['a\r\nb: c', 'a\n', '\0', '\u0100', '\x7f'])('have no value such as %j', (value) => {
    expect(() => checkedHeaders({ a: value })).toThrow(refused('the value of a'))
  })

  test('are bounded in number and in all their letters, to the last', () => {
    const { outboundHeadersMax, outboundHeadersMaxChars } = wireLimits
    const many = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`h${index}`, '']))
    expect(Object.keys(checkedHeaders(many(outboundHeadersMax)))).toHaveLength(outboundHeadersMax)
    expect(() => checkedHeaders(many(outboundHeadersMax + 1))).toThrow(refused('too many'))
    const long = (chars: number) => ({ a: 'x'.repeat(chars - 2), b: '' })
    expect(checkedHeaders(long(outboundHeadersMaxChars))).toHaveProperty('b', '')
    expect(() => checkedHeaders(long(outboundHeadersMaxChars + 1))).toThrow(refused('too long'))
  })
})

describe('the headers of a reply that an agent sees', () => {
  test('leave out what ends with the connection, and keep the length', () => {
    expect(
      shownHeaders({ connection: 'close', 'transfer-encoding': 'chunked', 'content-length': '5', etag: 'e' }),
    ).toEqual({ 'content-length': '5', etag: 'e' })
  })

  test('are a hundred, of four thousand characters each', () => {
    const many = Object.fromEntries(
      Array.from({ length: 101 }, (_, index) => [`h${index}`, 'x'.repeat(4001)]),
    )
    const shown = shownHeaders(many)
    expect(Object.keys(shown)).toHaveLength(100)
    expect(shown['h0']).toHaveLength(4000)
  })
})
