import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { describeBody } from './describe-body.ts'

const request = { path: '/a.git/git-receive-pack', headers: [], sha256: 'c0ffee' }
const [none, one, two] = ['0', '1', '2'].map((digit) => digit.repeat(40)) as [string, string, string]
const packet = (line: string) => (line.length + 4).toString(16).padStart(4, '0') + line
const push = (...lines: string[]) => Buffer.from(`${lines.map(packet).join('')}0000PACK\0\xff`)

test('a push is described by the references that it changes', () => {
  const body = push(
    `${one} ${two} refs/heads/main\0report-status side-band-64k`,
    `${none} ${one} refs/heads/new`,
    `${one} ${none} refs/tags/old\n`,
  )
  expect(describeBody(body, request)).toEqual([
    `The push moves "refs/heads/main" from ${one} to ${two}.`,
    `The push creates "refs/heads/new" at ${one}.`,
    `The push deletes "refs/tags/old", now ${one}.`,
    `The push has ${body.length} bytes with the SHA-256 c0ffee.`,
  ])
})

test('a push of many references says how many are not shown', () => {
  const lines = Array.from({ length: 25 }, (_none, at) => `${one} ${two} refs/heads/b${at}`)
  expect(describeBody(push(...lines), request).at(-2)).toBe('The push changes 5 more references.')
})

test('text is quoted, so that it cannot look like another sentence of the description', () => {
  expect(describeBody(Buffer.from('a\nb"'), { ...request, path: '/v1' })).toEqual([
    'Body, 4 bytes: "a\\nb\\""',
  ])
})

test('a longer text says what is not shown', () => {
  const [shown, whole] = describeBody(Buffer.from('x'.repeat(4001)), { ...request, path: '/v1' })
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
    }),
  )
})
