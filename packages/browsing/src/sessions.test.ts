import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createManualClock } from '@flotilla/protocol/testing/manual-clock'
import { createBrowserSessions } from './sessions.ts'
import type { SessionsDeps } from './held-sessions.ts'
import { createIdentityEvents } from '../../identity/src/events/index.ts'

/** Sessions whose containers start and stop under the control of the test. */
function aHarness() {
  const briefsFolder = mkdtempSync(join(tmpdir(), 'briefs-'))
  onTestFinished(() => rmSync(briefsFolder, { recursive: true }))
  const withheld: { why: string | null } = { why: null }
  /** How often the proxy was opened and a token issued, and at which opening the agent is deleted. */
  const opened = { times: 0, tokens: 0, deletedAt: 0 }
  const starts: PromiseWithResolvers<void>[] = []
  const stops: PromiseWithResolvers<void>[] = []
  const waitingIn = async (waits: PromiseWithResolvers<void>[]) => {
    const wait = Promise.withResolvers<void>()
    waits.push(wait)
    await wait.promise
  }
  const deps: SessionsDeps = {
    clock: createManualClock(),
    journal: { append: () => {} },
    log: { warn: () => {}, error: () => {} } as never,
    containers: {
      start: async () => {
        await waitingIn(starts)
        return { host: '127.0.0.1', port: 1 }
      },
      stop: () => waitingIn(stops),
    } as never,
    openService: () => ({ status: async () => ({ ready: true }), close: async () => {} }) as never,
    tokens: { issue: () => (opened.tokens++, 'token'), revoke: () => {} } as never,
    openProxy: async () => {
      opened.times++
      if (opened.times === opened.deletedAt) withheld.why = 'the agent was deleted'
      return { port: 1 }
    },
    publicKeyBase64url: '',
    briefsFolder,
    maxLive: () => 4,
    withheld: () => withheld.why,
    identityEvents: createIdentityEvents(),
    profileLimitBytes: () => 1,
    events: { publish: () => {} },
    onGone: () => {},
  }
  return { sessions: createBrowserSessions(deps), starts, stops, withheld, opened }
}

const never = new AbortController().signal

test('a browser closed during its start is reopened only once its container is gone', async () => {
  const { sessions, starts, stops } = aHarness()
  const first = sessions.use('ann', never, async () => 'worked').catch((error: unknown) => error)
  await expect.poll(() => starts.length).toBe(1)
  const closed = sessions.close('ann', 'asked')
  starts[0]?.resolve()
  await expect.poll(() => stops.length).toBe(1)
  expect(await first).toMatchObject({ code: 'browser-unavailable' })

  const second = sessions.use('ann', never, async () => 'worked')
  await new Promise((resolve) => setImmediate(resolve))
  expect([starts.length, sessions.of('ann').state.kind]).toEqual([1, 'closing'])
  stops[0]?.resolve()
  await closed
  await expect.poll(() => starts.length).toBe(2)
  starts[1]?.resolve()
  expect(await second).toBe('worked')
})

test('a browser whose agent is deleted during the start is removed', async () => {
  const { sessions, starts, stops, withheld } = aHarness()
  const used = sessions.use('ann', never, async () => 'worked').catch((error: unknown) => error)
  await expect.poll(() => starts.length).toBe(1)
  withheld.why = 'the agent was deleted'
  starts[0]?.resolve()
  await expect.poll(() => stops.length).toBe(1)
  stops[0]?.resolve()
  expect(await used).toMatchObject({
    code: 'browser-unavailable',
    detail: expect.stringContaining('deleted'),
  })
})

test('a browser is not opened for an agent that was deleted while its last one closed', async () => {
  const { sessions, starts, stops, withheld } = aHarness()
  const first = sessions.use('ann', never, async () => 'worked')
  await expect.poll(() => starts.length).toBe(1)
  starts[0]?.resolve()
  await first
  const closed = sessions.close('ann', 'asked')
  await expect.poll(() => stops.length).toBe(1)
  const second = sessions.use('ann', never, async () => 'worked').catch((error: unknown) => error)
  withheld.why = 'the agent was deleted'
  stops[0]?.resolve()
  await closed
  expect(await second).toMatchObject({ code: 'browser-unavailable' })
  expect(starts).toHaveLength(1)
  await expect(sessions.use('ann', never, async () => 'worked')).rejects.toMatchObject({
    code: 'browser-unavailable',
  })
})

test.each([
  ['before its container starts', 1, { starts: 0, tokens: 0 }],
  ['after its container answered', 2, { starts: 1, tokens: 1 }],
])(
  'a browser is not opened for an agent that is deleted while the proxy is opened %s',
  async (_when, deletedAt, expected) => {
    const { sessions, starts, stops, opened } = aHarness()
    opened.deletedAt = deletedAt
    let works = 0
    const used = sessions.use('ann', never, async () => works++).catch((error: unknown) => error)
    if (expected.starts > 0) await expect.poll(() => starts.length).toBe(1)
    starts[0]?.resolve()
    await expect.poll(() => stops.length).toBe(1)
    stops[0]?.resolve()
    expect(await used).toMatchObject({
      code: 'browser-unavailable',
      detail: expect.stringContaining('deleted'),
    })
    expect({ starts: starts.length, tokens: opened.tokens }).toEqual(expected)
    expect([works, opened.times]).toEqual([0, deletedAt])
  },
)
