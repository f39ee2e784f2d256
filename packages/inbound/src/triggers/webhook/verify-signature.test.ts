import { createHmac } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { sign as signForGitHub } from '@octokit/webhooks-methods'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { heedsLesson, verifies } from '../../../../../tests/verifies.ts'
import { readDeliveryHead } from './delivery-head.ts'
import type { RawHeaders } from './delivery-head.ts'
import { secretFault, verifySignature } from './verify-signature.ts'

const secret = `whsec_${Buffer.alloc(32, 5).toString('base64')}`
const nowMs = 1_800_000_000_000
const body = Buffer.from('{"action":"opened","name":"café"}')

function judged(headers: RawHeaders, more: { body?: Buffer; secrets?: string[]; nowMs?: number } = {}) {
  const { secrets = [secret] } = more
  return verifySignature(readDeliveryHead(headers), more.body ?? body, {
    secrets,
    nowMs: more.nowMs ?? nowMs,
  })
}

function standard(options: { key?: string; id?: string; at?: number; body?: Buffer; raw?: true } = {}) {
  const { key = secret, id = 'msg_1', at = nowMs } = options
  const signer = new Webhook(key, options.raw ? { format: 'raw' } : undefined)
  return {
    'webhook-id': id,
    'webhook-timestamp': `${Math.floor(at / 1000)}`,
    'webhook-signature': signer.sign(id, new Date(at), (options.body ?? body).toString()),
  }
}
const hex = (key = secret, of = body) => createHmac('sha256', key).update(of).digest('hex')

describe('signatures of independent senders', () => {
  test('a signature of the standardwebhooks package is valid and covers the id', () => {
    expect(judged(standard())).toEqual({ valid: true, coversId: true })
  })

  test('a secret without the prefix is accepted as base64 and as text, as senders use it', () => {
    const key = Buffer.alloc(24, 9).toString('base64')
    expect(judged(standard({ key }), { secrets: [key] })).toMatchObject({ valid: true })
    expect(
      judged(standard({ key: 'correct-horse-battery', raw: true }), { secrets: ['correct-horse-battery'] }),
    ).toMatchObject({ valid: true })
  })

  test("a signature of GitHub's package is valid under both header names", async () => {
    const signature = await signForGitHub(secret, body.toString())
    expect(signature).toMatch(/^sha256=/)
    expect(judged({ 'x-hub-signature-256': signature })).toEqual({ valid: true, coversId: false })
    expect(judged({ 'x-webhook-signature': signature })).toEqual({ valid: true, coversId: false })
    expect(judged({ 'x-webhook-signature': signature.slice('sha256='.length).toUpperCase() })).toMatchObject({
      valid: true,
    })
  })
})

describe('rejected signatures', () => {
  test('a different body, secret, id or timestamp is rejected', () => {
    verifies('errors:webhook-signature')
    expect(judged({ 'x-webhook-signature': hex() }, { body: Buffer.from('{}') })).toMatchObject({
      valid: false,
    })
    expect(judged({ 'x-webhook-signature': hex('another secret of the hook') })).toMatchObject({
      valid: false,
    })
    expect(judged({ ...standard(), 'webhook-id': 'msg_2' })).toMatchObject({ valid: false })
    expect(judged({ ...standard(), 'webhook-timestamp': `${nowMs / 1000 + 1}` })).toMatchObject({
      valid: false,
    })
  })

  test('a timestamp more than five minutes away in either direction is rejected', () => {
    heedsLesson(22)
    for (const seconds of [-300, 300]) {
      expect(judged(standard({ at: nowMs + seconds * 1000 })), `${seconds}`).toMatchObject({ valid: true })
    }
    for (const seconds of [-301, 301]) {
      const verdict = judged(standard({ at: nowMs + seconds * 1000 }))
      expect(verdict, `${seconds}`).toMatchObject({
        valid: false,
        reason: expect.stringContaining('300 seconds'),
      })
    }
  })

  test.each(['nonsense', '', '0x10', 'Infinity', '-1', '1e9', ' 1800000000'])(
    'the timestamp %j is rejected',
    (timestamp) => {
      const key = Buffer.alloc(32, 5)
      const made = createHmac('sha256', key).update(`msg_1.${timestamp}.`).update(body).digest('base64')
      const headers = {
        'webhook-id': 'msg_1',
        'webhook-timestamp': timestamp,
        'webhook-signature': `v1,${made}`,
      }
      expect(judged(headers)).toMatchObject({ valid: false })
    },
  )

  test('a wrong stronger signature is not replaced by a weaker one', () => {
    expect(
      judged({ ...standard({ id: 'x' }), 'webhook-id': 'y', 'x-webhook-signature': hex() }),
    ).toMatchObject({ valid: false })
  })

  test('signatures of other versions, cut ones and empty ones are rejected', () => {
    const { 'webhook-signature': good, ...rest } = standard()
    for (const bad of [
      good.replace('v1,', 'v1a,'),
      good.slice(0, -2),
      'v1,',
      '',
      `${'v1,x '.repeat(8)}${good}`,
    ]) {
      expect(judged({ ...rest, 'webhook-signature': bad }), bad).toMatchObject({ valid: false })
    }
    expect(judged({ ...rest, 'webhook-signature': `v1,${'A'.repeat(43)}= ${good}` })).toMatchObject({
      valid: true,
    })
  })

  test('without a secret every signature is rejected', () => {
    expect(judged({ 'x-webhook-signature': hex('') }, { secrets: [] })).toMatchObject({ valid: false })
    expect(judged(standard(), { secrets: [] })).toMatchObject({ valid: false })
  })

  test('no text other than the signature is accepted', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (one, other) => {
        const plain = judged({ 'x-webhook-signature': one, 'x-hub-signature-256': other })
        const named = judged({ ...standard(), 'webhook-signature': `v1,${one}` })
        expect([plain.valid, named.valid]).toEqual([false, false])
      }),
    )
  })
})

test('all signatures are compared by the constant-time function, and by no other', async () => {
  verifies('authentication:webhook:constant-time')
  const source = await readFile(new URL('./verify-signature.ts', import.meta.url), 'utf8')
  const comparing = /function isAmong[^]*?\n}\n/.exec(source)?.[0] ?? ''
  expect(comparing).toContain('timingSafeEqual(one, other)')
  expect(comparing).not.toMatch(/\breturn (?!found)|\bbreak\b|\.equals\(|toString/)
  expect(source.match(/isAmong\(/g)).toHaveLength(3)
  expect(source).not.toMatch(/\.equals\(|compare\(|digest\('hex'\)/)
})

describe('secrets of senders', () => {
  test('a secret that cannot be decoded is rejected, because a lenient decoder would give an empty key', () => {
    expect(secretFault('whsec_!!!!!!!!!!!!!!!!')).toContain('base64')
    expect(secretFault('whsec_AAAA')).toContain('16 bytes')
    expect(secretFault(secret)).toBeNull()
    const empty = createHmac('sha256', '')
      .update(`msg_1.${nowMs / 1000}.`)
      .update(body)
      .digest('base64')
    const headers = {
      'webhook-id': 'msg_1',
      'webhook-timestamp': `${nowMs / 1000}`,
      'webhook-signature': `v1,${empty}`,
    }
    expect(judged(headers, { secrets: ['!!!!!!!!!!!!!!!!'] })).toMatchObject({ valid: false })
  })
})
