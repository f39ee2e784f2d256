import { afterAll, expect, test } from 'vitest'
import { createLoopTurns } from '../../foundation/src/intake/index.ts'
import { createLoopShare } from '../../foundation/src/intake/loop-share.ts'
import { loopCpuMs, systemClock } from '../../foundation/src/platform/index.ts'
import { startFakeBrowser, startHostileFarEnd } from '../../testing/src/fake-browser.ts'
import { browserServiceConformance } from './browser-service.conformance.ts'
import { httpBrowserService } from './http-browser-service.ts'

const closing: (() => Promise<void>)[] = []
afterAll(async () => {
  await Promise.all(closing.map((close) => close()))
})

/** A share so small that any reply of megabytes uses it up. */
const msPerMinute = 1
const loop = createLoopShare({
  clock: systemClock,
  cpuMs: loopCpuMs,
  turns: createLoopTurns({ cpuMs: loopCpuMs }),
  msPerMinute,
  what: 'answers of this browser',
})
const open = httpBrowserService((subject) => `proof-of-${subject}`, loop)

browserServiceConformance('a fake browser over HTTP', async () => {
  const browser = await startFakeBrowser()
  closing.push(browser.close)
  return { service: open('scout', { host: '127.0.0.1', port: browser.port }), url: 'https://example.com/a' }
})

const look = { params: {}, deadlineMs: 200, signal: new AbortController().signal }

test.each([
  ['is no JSON', '<html>'],
  ['is of another form', JSON.stringify({ ok: true, data: { page: 7 } })],
  ['holds more than an action gives', JSON.stringify({ ok: true, data: {}, more: 1 })],
  ['is deeper than anything honest', '['.repeat(100_000)],
])('an answer that %s is refused as such', async (_what, text) => {
  const far = await startHostileFarEnd((response) => response.end(text))
  closing.push(far.close)
  const service = open('scout', { host: '127.0.0.1', port: far.port })
  await expect(service.act('snapshot', look)).rejects.toMatchObject({ code: 'upstream-failed' })
})

test('an answer without end is hung up on', async () => {
  const far = await startHostileFarEnd((response) => {
    const more = () => {
      while (response.write(Buffer.alloc(1024 * 1024, 32)));
      response.once('drain', more)
    }
    response.on('error', () => {})
    more()
  })
  closing.push(far.close)
  const service = open('scout', { host: '127.0.0.1', port: far.port })
  await expect(service.act('snapshot', { ...look, deadlineMs: 30_000 })).rejects.toMatchObject({
    code: 'upstream-failed',
    detail: expect.stringContaining('longer than'),
  })
})

test('parsing an answer of megabytes is charged to the share of the agent that owns the browser', async () => {
  const text = JSON.stringify({ ok: true, data: { texts: Array.from({ length: 500_000 }, () => 'a') } })
  const far = await startHostileFarEnd((response) => response.end(text))
  closing.push(far.close)
  // Each reading of this clock is 5 ms later, so that every charge counts, however coarse the machine's clock is.
  let readMs = 0
  const cpuMs = () => (readMs += 5)
  const counted = createLoopShare({
    clock: systemClock,
    cpuMs,
    turns: createLoopTurns({ cpuMs }),
    msPerMinute,
    what: 'answers of this browser',
  })
  const subject = { host: '127.0.0.1', port: far.port }
  const service = httpBrowserService((name) => `proof-of-${name}`, counted)('reader', subject)
  await expect(service.act('snapshot', look)).rejects.toMatchObject({ code: 'upstream-failed' })
  expect(counted.waitMs('reader')).toBeGreaterThan(0)
  expect(counted.waitMs('other')).toBe(0)
})

test('a screen that speaks another protocol is hung up on', async () => {
  const far = await startHostileFarEnd((response) => response.end('no'))
  closing.push(far.close)
  const service = open('scout', { host: '127.0.0.1', port: far.port })
  const ask = { key: Buffer.alloc(16).toString('base64'), signal: AbortSignal.timeout(5000) }
  await expect(service.screen('view', ask)).rejects.toMatchObject({ code: 'upstream-failed' })
})

test('requests are authenticated as the mesh, for this agent’s browser alone', async () => {
  const heard: (string | undefined)[] = []
  const far = await startHostileFarEnd((response) => {
    heard.push(response.req.headers.authorization)
    response.end('{}')
  })
  closing.push(far.close)
  await open('scout', { host: '127.0.0.1', port: far.port })
    .status(AbortSignal.timeout(5000))
    .catch(() => {})
  expect(heard).toEqual(['Bearer proof-of-browser:scout'])
})
