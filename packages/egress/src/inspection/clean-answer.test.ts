import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { createScrubs } from '../credentials/scrub.ts'
import { createByteScrub } from '../credentials/scrub-bytes.ts'
import { createSecret } from '../credentials/secret.ts'
import { cleanAnswer } from './clean-answer.ts'

const value = 'ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5'
const secrets = [createSecret('github', value)]
const filter = cleanAnswer({ text: createScrubs()(secrets), bytes: createByteScrub(secrets) }, (work) =>
  work(),
)

/** The body after the filter, sent in pieces of these bytes. */
async function cleaned(body: Buffer, type: string, pieceBytes = body.length): Promise<Buffer> {
  const pieces: Buffer[] = []
  for (let at = 0; at < body.length; at += pieceBytes) pieces.push(body.subarray(at, at + pieceBytes))
  const stream = filter.body(['Content-Type', type])
  if (stream === null) throw new Error('the body is not filtered')
  return buffer(Readable.from(pieces).pipe(stream))
}

describe('an answer', () => {
  test.each([1, 7, 16, 1000, 100_000])(
    'text loses a value that arrives in pieces of %i bytes',
    async (pieceBytes) => {
      const padding = 'a line of the answer\n'.repeat(300)
      const base64 = Buffer.from(`user:${value}`).toString('base64')
      const body = `${padding}${value}${padding}{"a":"${base64}"}${padding}${value}`
      const text = (await cleaned(Buffer.from(body), 'text/plain', pieceBytes)).toString()
      expect(text).not.toContain(value)
      expect(text).not.toContain(base64.slice(12, 40))
      expect(text.split('[secret]')).toHaveLength(4)
      expect(text.replaceAll('[secret]', '')).toContain(padding)
    },
  )

  test('text without a value passes byte for byte, also if it is not UTF-8', async () => {
    const body = randomBytes(200_000)
    expect((await cleaned(body, 'text/plain', 5000)).equals(body)).toBe(true)
  })

  test('other bodies keep their length, and values in them are overwritten', async () => {
    const body = Buffer.concat([randomBytes(50_000), Buffer.from(value), randomBytes(50_000)])
    const clean = await cleaned(body, 'application/x-git-upload-pack-result', 777)
    expect(clean).toHaveLength(body.length)
    expect(clean.includes(value)).toBe(false)
    expect(clean.subarray(0, 50_000).equals(body.subarray(0, 50_000))).toBe(true)
    expect(clean.subarray(50_000 + value.length).equals(body.subarray(50_000 + value.length))).toBe(true)
  })

  test.each([
    ['base64 behind a name', Buffer.from(`user:${value}`).toString('base64')],
    ['base64 between other bytes', Buffer.from(`a${value}bc`).toString('base64')],
    ['percent-encoded', [...Buffer.from(value)].map((byte) => `%${byte.toString(16)}`).join('')],
    ['escaped', Array.from(value, (one) => `\\u00${one.charCodeAt(0).toString(16)}`).join('')],
    ['hex', Buffer.from(value).toString('hex').toUpperCase()],
  ])('other bodies lose a value that is written as %s', async (_what, spelled) => {
    const body = Buffer.from(`before ${spelled} after`)
    for (const pieceBytes of [1, 13, 1000]) {
      const clean = (await cleaned(body, 'application/octet-stream', pieceBytes)).toString()
      expect(clean).toHaveLength(body.length)
      expect(clean).not.toContain(spelled.slice(10, 22))
      expect(clean).toMatch(/^before \S+ after$/)
    }
  })

  test('a header whose name contains a value is left out', () => {
    expect(filter.headers([`X-${value}`, '1', `x-${value.toLowerCase()}`, '2', 'X-Other', '3'])).toEqual([
      'X-Other',
      '3',
    ])
  })

  test('the name of a compression is told without values', () => {
    expect(() => filter.headers(['Content-Encoding', value])).toThrow(
      expect.objectContaining({ detail: expect.not.stringContaining(value.slice(0, 20)) }),
    )
  })

  test('headers lose values, and the length of a text is not stated', () => {
    const headers = filter.headers([
      'X-Echo',
      `Bearer ${value}`,
      'Content-Type',
      'text/plain',
      'Content-Length',
      '9',
    ])
    expect(headers).toEqual(['X-Echo', 'Bearer [secret]', 'Content-Type', 'text/plain'])
    const archive = ['Content-Type', 'application/gzip', 'Content-Length', '9']
    expect(filter.headers(archive)).toEqual(archive)
  })

  test('a compressed answer is refused, because values in it cannot be found', () => {
    expect(() => filter.headers(['Content-Encoding', 'gzip'])).toThrow(
      expect.objectContaining({ code: 'upstream-failed' }),
    )
  })
})
