import { personTokenPrefix } from '@flotilla/protocol/people'
import { format, inspect } from 'node:util'
import { Writable } from 'node:stream'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { verifies } from '../../../../tests/verifies.ts'
import { redact } from './redact.ts'
import { createSecret } from './secret.ts'

const value = 'sk-very-secret-value-1234567890'
const secret = createSecret('openai_api_key', value)

describe('a secret', () => {
  test.each<[string, () => string]>([
    ['JSON', () => JSON.stringify({ deep: [secret] })],
    ['a template', () => `key: ${secret as unknown as string}`],
    ['a sum of texts', () => 'key: ' + (secret as unknown as string)],
    ['inspection', () => inspect({ secret }, { depth: 9, showHidden: true })],
    ['%s', () => format('%s', secret)],
    ['%o', () => format('%o', secret)],
    ['%O', () => format('%O', { secret })],
    ['%j', () => format('%j', secret)],
    ['a copy', () => inspect({ ...secret }) + JSON.stringify(Object.entries(secret))],
    ['an error', () => inspect(new Error('x', { cause: { secret } }))],
  ])('is not seen in %s', (_what, shown) => {
    verifies('authentication:credentials:system-never')
    expect(shown()).not.toContain('very-secret')
  })

  test('a secret is not seen in a log', () => {
    const lines: string[] = []
    const stream = new Writable({ write: (chunk, _encoding, done) => (lines.push(String(chunk)), done()) })
    pino(stream).info({ secret, err: new Error('x', { cause: secret }) }, 'key loaded')
    expect(lines.join('')).toContain('[secret]')
    expect(lines.join('')).not.toContain('very-secret')
  })

  test('a secret is revealed by reveal()', () => {
    expect(secret.reveal()).toBe(value)
    expect(`${secret as unknown as string}!`).toBe('[secret]!')
  })
})

describe('redaction', () => {
  test('redaction takes out the key, and keys in shapes that providers print', () => {
    const text = `bad key ${value}, Bearer abcdefghijk, sk-proj-ab***wxyz and key gsk-123456abc`
    const clean = redact(text, [secret])
    expect(clean).toBe('bad key [secret], [secret], [secret] and key [secret]')
  })

  test('redaction takes out what looks like the token of a person here', () => {
    const token = `${personTokenPrefix}${'aB3-_'.repeat(8)}abc`
    expect(redact(`with ${token}, and flp_ alone`, [])).toBe('with [secret], and flp_ alone')
  })

  test('redaction leaves ordinary words', () => {
    const text = 'the task-list and risk-free keys of max_tokens: 5'
    expect(redact(text, [createSecret('short', 'the')])).toBe(text)
  })
})
