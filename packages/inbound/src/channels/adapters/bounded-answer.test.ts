import { expect, test } from 'vitest'
import { withBoundedAnswers } from './bounded-answer.ts'
import { waitMaxMs } from './call-failure.ts'

/** What the caller gets for a response of the platform, and the request that was made. */
async function ask(status: number, body: string | null, headers: Record<string, string> = {}) {
  const requests: (RequestInit | undefined)[] = []
  const fetch = withBoundedAnswers(async (_url, init) => {
    requests.push(init)
    return new Response(body, { status, headers })
  }, 'Slack')
  return { asked: requests, answer: await fetch('https://slack.test/api', { method: 'POST' }) }
}

const deep = `${'['.repeat(1000)}${']'.repeat(1000)}`
const wide = `"${'x'.repeat(16 * 1024 * 1024)}"`

test('a response is passed on unchanged', async () => {
  const { answer } = await ask(200, '{"ok":true}', { 'content-type': 'application/json' })
  expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
    200,
    'application/json',
    '{"ok":true}',
  ])
  expect(await (await ask(204, null)).answer.text()).toBe('')
})

test.each([
  ['deep', deep],
  ['long', wide],
])('a response that is too %s means that the call may have succeeded', async (_name, body) => {
  await expect(ask(200, body)).rejects.toMatchObject({ name: 'ChannelFailure', kind: 'unsure' })
})

test.each([
  [429, deep],
  [403, wide],
  [503, deep],
])('an error of status %d keeps its status, whatever its body', async (status, body) => {
  const { answer } = await ask(status, body, { 'retry-after': '7', 'content-type': 'text/html' })
  expect([answer.status, answer.headers.get('retry-after'), await answer.json()]).toEqual([status, '7', {}])
})

test.each([301, 302, 303, 307, 308])('a redirect of status %d is not followed', async (status) => {
  const asking = ask(status, null, { location: 'http://169.254.169.254/' })
  await expect(asking).rejects.toMatchObject({ name: 'ChannelFailure', kind: 'unreachable' })
  const { asked } = await ask(200, '{}')
  expect(asked).toMatchObject([{ method: 'POST', redirect: 'manual' }])
})

test.each([
  ['0', '0'],
  ['3600', '3600'],
  ['3601', '3600'],
  ['1e9', '3600'],
  ['Infinity', '3600'],
  ['-1', null],
  ['Fri, 01 Jan 2027 00:00:00 GMT', null],
])('of a requested wait of %s seconds, %s are accepted', async (told, believed) => {
  const { answer } = await ask(429, '{}', { 'retry-after': told, 'x-ratelimit-reset-after': told })
  expect(answer.headers.get('retry-after')).toBe(believed)
  expect(answer.headers.get('x-ratelimit-reset-after')).toBe(believed)
  expect(waitMaxMs).toBe(3_600_000)
})
