import { expect, test } from 'vitest'
import { ChannelFailure } from '../adapter.ts'
import { failureOfCall, failureOfDownload, rateLimited } from './call-failure.ts'
import { discordFailure } from './discord/discord-failure.ts'
import { isTokenRefused, slackFailure } from './slack/slack-failure.ts'

const withFields = (message: string, fields: object) => Object.assign(new Error(message), fields)
const refused = withFields('connect ECONNREFUSED', { code: 'ECONNREFUSED' })

test.each([
  ['a refused connection', new TypeError('fetch failed', { cause: refused }), 'unreachable'],
  [
    'a refused connection at both addresses',
    new TypeError('fetch failed', { cause: new AggregateError([refused]) }),
    'unreachable',
  ],
  [
    'a reset connection',
    new TypeError('fetch failed', { cause: withFields('x', { code: 'ECONNRESET' }) }),
    'unsure',
  ],
  ['an unknown error', 'a text', 'unsure'],
])('%s', (_name, error, kind) => {
  expect(failureOfCall(error, 'Slack')).toMatchObject({ kind })
})

test('a failure does not repeat the data that was sent', () => {
  const error = withFields('POST https://discord.com/api/webhooks/1/SECRET failed', { code: 'ECONNRESET' })
  expect(failureOfCall(error, 'Discord').message).not.toContain('SECRET')
  expect(slackFailure(withFields('x', { data: { ok: false, error: 'xoxb-SECRET!' } })).message).not.toContain(
    'SECRET',
  )
})

test('a ChannelFailure is found behind the error of a library', () => {
  const ours = new ChannelFailure('gone', 'no more')
  expect(failureOfCall(new Error('a', { cause: new Error('b', { cause: ours }) }), 'Slack')).toBe(ours)
})

test.each([
  [404, 'gone'],
  [410, 'gone'],
  [401, 'refused'],
  [302, 'refused'],
  [408, 'unsure'],
  [425, 'unsure'],
  [500, 'unsure'],
  [503, 'unsure'],
])('a download that is answered with %d fails as %s', (status, kind) => {
  expect(failureOfDownload('Slack', status, '5')).toMatchObject({ kind, retryAfterMs: null })
})

test.each([
  ['7', 7000],
  [null, 30_000],
  ['Fri, 01 Jan 2027 00:00:00 GMT', 30_000],
  [['1', '2'], 30_000],
])('a download with the retry-after %j is retried after %d', (retryAfter, retryAfterMs) => {
  expect(failureOfDownload('Slack', 429, retryAfter)).toMatchObject({ kind: 'rate-limited', retryAfterMs })
})

test.each([
  [2000, 2000],
  [-1, 0],
  [Number.NaN, 3_600_000],
  [1e12, 3_600_000],
])('a requested wait of %d counts as %d', (asked, taken) => {
  expect(rateLimited('Slack', asked).retryAfterMs).toBe(taken)
})

test.each([
  ['is_archived', 'gone'],
  ['msg_too_long', 'too-large'],
  ['internal_error', 'unsure'],
  ['ratelimited', 'rate-limited'],
  ['invalid_blocks', 'refused'],
])('Slack reports %s', (error, kind) => {
  expect(slackFailure(withFields('An API error occurred', { data: { ok: false, error } })).kind).toBe(kind)
})

test('Slack rejects a token with several error names', () => {
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
])('Discord responds with %o', (fields, kind) => {
  expect(discordFailure(withFields('no', fields)).kind).toBe(kind)
})
