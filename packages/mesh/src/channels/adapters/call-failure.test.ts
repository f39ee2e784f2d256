import { expect, test } from 'vitest'
import { failureOfCall, rateLimited } from './call-failure.ts'
import { discordFailure } from './discord/discord-failure.ts'
import { isTokenRefused, slackFailure } from './slack/slack-failure.ts'

const withFields = (message: string, fields: object) => Object.assign(new Error(message), fields)
const refused = withFields('connect ECONNREFUSED', { code: 'ECONNREFUSED' })

test.each([
  ['nobody there', new TypeError('fetch failed', { cause: refused }), 'unreachable'],
  [
    'nobody at either address',
    new TypeError('fetch failed', { cause: new AggregateError([refused]) }),
    'unreachable',
  ],
  [
    'a broken line',
    new TypeError('fetch failed', { cause: withFields('x', { code: 'ECONNRESET' }) }),
    'unsure',
  ],
  ['what nobody foresaw', 'a text', 'unsure'],
])('%s', (_name, error, kind) => {
  expect(failureOfCall(error, 'Slack')).toMatchObject({ kind })
})

test('a failure does not repeat what was sent', () => {
  const error = withFields('POST https://discord.com/api/webhooks/1/SECRET failed', { code: 'ECONNRESET' })
  expect(failureOfCall(error, 'Discord').message).not.toContain('SECRET')
  expect(slackFailure(withFields('x', { data: { ok: false, error: 'xoxb-SECRET!' } })).message).not.toContain(
    'SECRET',
  )
})

test.each([
  [2000, 2000],
  [-1, 0],
  [Number.NaN, 3_600_000],
  [1e12, 3_600_000],
])('a wait of %d is taken as %d', (asked, taken) => {
  expect(rateLimited('Slack', asked).retryAfterMs).toBe(taken)
})

test.each([
  ['is_archived', 'gone'],
  ['msg_too_long', 'too-large'],
  ['internal_error', 'unsure'],
  ['ratelimited', 'rate-limited'],
  ['invalid_blocks', 'refused'],
])('Slack says %s', (error, kind) => {
  expect(slackFailure(withFields('An API error occurred', { data: { ok: false, error } })).kind).toBe(kind)
})

test('Slack refuses a token in many words', () => {
  for (const error of ['invalid_auth', 'token_revoked', 'account_inactive']) {
    expect(isTokenRefused(withFields('x', { data: { error } }))).toBe(true)
  }
  expect(isTokenRefused(withFields('x', { data: { error: 'is_archived' } }))).toBe(false)
})

test.each([
  [{ status: 401, code: 0 }, 'refused'],
  [{ status: 403, code: 50_007 }, 'gone'],
  [{ status: 404, code: 10_003 }, 'gone'],
  [{ status: 400, code: 50_083 }, 'gone'],
  [{ status: 400, code: 50_035 }, 'refused'],
  [{ status: 413, code: 40_005 }, 'too-large'],
  [{ status: 502 }, 'unsure'],
  [{ retryAfter: 1500 }, 'rate-limited'],
  [{ code: 'TokenInvalid' }, 'refused'],
])('Discord answers %o', (fields, kind) => {
  expect(discordFailure(withFields('no', fields)).kind).toBe(kind)
})
