import { meshAgentEndpoints } from '@flotilla/protocol/mesh-agent-api'
import { rateBucketOf, ratePerMinute } from '@flotilla/protocol/rate-buckets'
import type { RateBucket } from '@flotilla/protocol/rate-buckets'
import { toolEndpoints } from '@flotilla/protocol/tool-api'
import { describe, expect, test } from 'vitest'
import { collectJournal } from '../../../../tests/support/collected-ports.ts'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { verifies } from '../../../../tests/verifies.ts'
import { settingsSchema } from '../../../foundation/src/config/settings-file.ts'
import { createRateLimits } from './rate-limits.ts'

/** The numbers of docs/reference/rate-limits.md: calls a minute of one agent. */
const decided = {
  llm: 600,
  http: 600,
  web_search: 60,
  credentials: 600,
  blackboard_read: 6000,
  blackboard_write: 3000,
  notify: 300,
  tasks: 300,
  messages: 300,
  artifacts: 300,
  skills: 300,
  publish: 1200,
  cron: 300,
  spawn: 60,
  wallet: 60,
  browser: 6000,
  other: 3000,
} as const
const rateBuckets = Object.keys(ratePerMinute) as RateBucket[] // keys of a literal

describe('rate limits', () => {
  test('rate limits exist for every endpoint of the agent API', () => {
    const buckets = Object.entries({ ...meshAgentEndpoints, ...toolEndpoints }).map(
      ([name, { method, path }]) => [name, rateBucketOf(method, path)],
    )
    expect(Object.fromEntries(buckets)).toMatchObject({
      chatCompletions: 'llm',
      models: 'llm',
      blackboardRead: 'blackboard_read',
      blackboardList: 'blackboard_read',
      blackboardWrite: 'blackboard_write',
      httpRequest: 'http',
      webSearch: 'web_search',
      artifacts: 'artifacts',
      notify: 'notify',
      handOff: 'tasks',
      completeTask: 'tasks',
      saveArtifact: 'artifacts',
      lease: 'other',
    })
    expect(rateBucketOf('DELETE', '/not/there/yet')).toBe('other')
  })

  test('rate limits have the numbers that the architecture page decides', () => {
    const settings = settingsSchema.parse({})
    expect(settings.rate_limits).toEqual(decided)
    expect(settings.webhooks.per_minute).toBe(60)
  })

  test.each(Object.entries(decided))('let %s come %i times a minute and not once more', (...given) => {
    verifies('limits:rate-limits')
    const [name, perMinute] = given
    const bucket = rateBuckets.find((one) => one === name) ?? 'other'
    const clock = createManualClock()
    const { rate_limits: set } = settingsSchema.parse({})
    const rates = createRateLimits({ clock, journal: collectJournal(), perMinute: () => set })
    for (let call = 0; call < perMinute; call += 1) rates.take('scout', bucket)
    expect(() => rates.take('scout', bucket)).toThrow(
      expect.objectContaining({
        code: 'rate-limited',
        detail: expect.stringContaining(`at most ${perMinute} calls of ${name} per minute`),
      }),
    )
  })

  test('rate limits are counted by bucket and agent in memory, and recorded in the audit log once in a window', async () => {
    verifies('purpose:rate-limiter:in-memory')
    const clock = createManualClock()
    const journal = collectJournal()
    const rates = createRateLimits({ clock, journal, perMinute: () => ({ ...ratePerMinute, notify: 2 }) })
    for (let call = 0; call < 2; call++) rates.take('scout', 'notify')
    for (let call = 0; call < 5; call++) {
      expect(() => rates.take('scout', 'notify')).toThrow('at most 2 calls of notify per minute')
    }
    rates.take('scout', 'llm')
    rates.take('other', 'notify')
    expect(journal.entries).toEqual([
      { actor: 'agent:scout', action: 'rate.refused', subject: 'notify', detail: { per_minute: 2 } },
    ])
    rates.forget('scout')
    rates.take('scout', 'notify')
    await clock.advance(120_000)
  })
})
