import { wireLimits } from '@flotilla/protocol/limits'
import { describe, expect, test } from 'vitest'
import { checkedHeaders, shownHeaders } from './request-headers.ts'

const refused = (detail: string) =>
  expect.objectContaining({ code: 'bad-request', detail: expect.stringContaining(detail) })

describe('the headers that an agent sets', () => {
  test('header names become lower case, and values stay', () => {
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
  ])('the header %s is rejected, since servers could parse the request differently', (name) => {
    expect(() => checkedHeaders({ [name]: 'x' })).toThrow(
      refused(`an agent may not set the header ${name.toLowerCase()}`),
    )
  })

  test.each(['', 'a b', 'a:b', 'a\r\nb', 'ä', ' a', 'a '])('the header name %j is rejected', (name) => {
    expect(() => checkedHeaders({ [name]: 'x' })).toThrow(refused('is not a header name'))
  })

  test('a refusal shows at most a hundred characters of a header name', () => {
    expect(() => checkedHeaders({ [`${'a'.repeat(100)} b`]: 'x' })).toThrow(
      refused(`${'a'.repeat(100)} is not`),
    )
  })

  test.each(['a\r\nb: c', 'a\n', '\0', '\u0100', '\x7f'])('the header value %j is rejected', (value) => {
    expect(() => checkedHeaders({ a: value })).toThrow(refused('the value of a'))
  })

  test('headers are limited in number and in total length', () => {
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
  test('headers of the connection are removed from a reply, and the length is kept', () => {
    expect(
      shownHeaders({ connection: 'close', 'transfer-encoding': 'chunked', 'content-length': '5', etag: 'e' }),
    ).toEqual({ 'content-length': '5', etag: 'e' })
  })

  test('a reply shows at most a hundred headers of four thousand characters each', () => {
    const many = Object.fromEntries(
      Array.from({ length: 101 }, (_, index) => [`h${index}`, 'x'.repeat(4001)]),
    )
    const shown = shownHeaders(many)
    expect(Object.keys(shown)).toHaveLength(100)
    expect(shown['h0']).toHaveLength(4000)
  })
})
