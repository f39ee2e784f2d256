import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { describeBody } from './describe-body.ts'

const ofPush = ['Content-Type', 'application/x-git-receive-pack-request']
const request = { path: '/a.git/git-receive-pack', headers: ofPush, sha256: 'c0ffee' }
const [none, one, two] = ['0', '1', '2'].map((digit) => digit.repeat(40)) as [string, string, string]
const packet = (line: string) => (Buffer.byteLength(line) + 4).toString(16).padStart(4, '0') + line
const push = (...lines: string[]) => Buffer.from(`${lines.map(packet).join('')}0000PACK\0\xff`)

test('a push is described by the references that it changes, deletions first', () => {
  const body = push(
    `${one} ${two} refs/heads/main\0report-status side-band-64k`,
    `${none} ${one} refs/heads/new`,
    `${one} ${none} refs/tags/old\n`,
  )
  expect(describeBody(body, request)).toEqual([
    `The push deletes "refs/tags/old", now ${one}.`,
    `The push moves "refs/heads/main" from ${one} to ${two}.`,
    `The push creates "refs/heads/new" at ${one}.`,
    `The push has ${body.length} bytes with the SHA-256 c0ffee.`,
  ])
})

test('a push of many references shows the deletions and says how many references are not shown', () => {
  const moves = Array.from({ length: 25 }, (_none, at) => `${one} ${two} refs/heads/b${at}`)
  const deleted = Array.from({ length: 23 }, (_none, at) => `${one} ${none} refs/heads/d${at}`)
  expect(describeBody(push(...moves, deleted[0] ?? ''), request)).toMatchObject({
    0: `The push deletes "refs/heads/d0", now ${one}.`,
    20: 'The push creates or moves 6 more references.',
    length: 22,
  })
  expect(describeBody(push(...moves, ...deleted), request).slice(20, -1)).toEqual([
    'The push deletes 3 more references.',
    'The push creates or moves 25 more references.',
  ])
})

test('the name of a reference is cut, and hides nothing behind characters that are not seen', () => {
  const [long] = describeBody(push(`${none} ${one} refs/heads/${'x'.repeat(5000)}`), request)
  expect(long).toMatch(/^The push creates "refs\/heads\/x{189}" … at 1{40}\.$/)
  const [turned] = describeBody(push(`${none} ${one} refs/heads/\u202Enull`), request)
  expect(turned).toBe(`The push creates "refs/heads/\\u{202e}null" at ${one}.`)
})

test.each([
  ['the path alone', { ...request, headers: [] }],
  ['the path alone, with another type', { ...request, headers: ['Content-Type', 'application/json'] }],
  ['the content type alone', { ...request, path: '/v1/upload' }],
  ['the content type and a query that ends like a push', { ...request, path: '/v1?x=/git-receive-pack' }],
])('of a body with %s, its references and the body itself are shown', (_what, given) => {
  const body = Buffer.from(`${packet(`${one} ${none} refs/heads/main`)}0000DELETE everything`)
  expect(describeBody(body, given)).toEqual([
    'The request has only one of the path and the content type of a git push. If the server reads the body as one:',
    `The push deletes "refs/heads/main", now ${one}.`,
    `Body, ${body.length} bytes: ${JSON.stringify(body.toString())}`,
  ])
})

test('a query that names a push makes no push', () => {
  const [words] = describeBody(Buffer.from('{}'), { ...request, path: '/a?/git-receive-pack', headers: [] })
  expect(words).toBe('Body, 2 bytes: "{}"')
})

test.each([
  '/a.git/git%2Dreceive-pack',
  '/a.git/x/../git-receive-pack',
  '/a.git//Git-Receive-Pack;v=1',
  // A path with more forms than are made may be that of a push.
  '/a//%2561;v=1/%25252e%25252e/b//%252e%252e;w/../%252525252567it-receive-pack',
])('the spelling %s is the path of a push', (path) => {
  const [words] = describeBody(push(`${one} ${none} refs/heads/main`), { ...request, path })
  expect(words).toBe(`The push deletes "refs/heads/main", now ${one}.`)
})

test.each([
  ['with digits in upper case', push(`${'A'.repeat(40)} ${none} refs/heads/main`), /^The push deletes/],
  ['with a line that is no command', push(`${one} ${two} refs/heads/a`, 'push-cert\0'), /cannot read which/],
  ['that does not end', Buffer.from(packet(`${one} ${two} refs/heads/a`)), /cannot read which/],
  ['whose length is no number', Buffer.from('00x5a0000'), /cannot read which/],
])('no command of a push %s is left out', (_what, body, expected) => {
  expect(describeBody(body, request)[0]).toMatch(expected)
})

test('the references of a push that the server decompresses first are not read', () => {
  const headers = [...ofPush, 'Content-Encoding', 'gzip']
  const [words] = describeBody(push(`${one} ${two} refs/heads/a`), { ...request, headers })
  expect(words).toBe('The request is a git push; the mesh cannot read which references it changes.')
})

test('text is quoted, so that it cannot look like another sentence of the description', () => {
  expect(describeBody(Buffer.from('a\nb"'), { ...request, path: '/v1', headers: [] })).toEqual([
    'Body, 4 bytes: "a\\nb\\""',
  ])
})

test('a longer text says what is not shown', () => {
  const [shown, whole] = describeBody(Buffer.from('x'.repeat(4001)), { ...request, path: '/v1', headers: [] })
  expect(shown).toMatch(/^Only the first 4000 characters of the body are shown: "x{4000}"$/)
  expect(whole).toBe('The body has 4001 bytes with the SHA-256 c0ffee.')
})

test.each([
  ['no text', Buffer.from([0xff, 0xfe]), []],
  ['compressed', Buffer.from('text'), ['Content-Encoding', 'gzip']],
])('a body that is %s is described by size and SHA-256', (_what, body, headers) => {
  expect(describeBody(body, { ...request, path: '/v1', headers })).toEqual([
    `The body is binary or compressed: ${body.length} bytes with the SHA-256 c0ffee.`,
  ])
})

test('an empty body is described as none', () => {
  expect(describeBody(Buffer.alloc(0), request)).toEqual(['It has no body.'])
})

test('any bytes of a push give a bounded description', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), fc.string(), (bytes, text) => {
      const words = describeBody(Buffer.concat([Buffer.from(packet(text)), Buffer.from(bytes)]), request)
      expect(words.length).toBeLessThan(25)
      expect(words.join('').length).toBeLessThan(20_000)
    }),
  )
})
