import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createHarnessSessions, restOfMinuteMs } from './harness-sessions.ts'

it('a session keeps when it was opened', async () => {
  const sessions = createHarnessSessions(mkdtempSync(join(tmpdir(), 'harness-')))
  const session = { conversation: 'main', sessionId: 's', harness: 'h', runId: 'r', openedAt: 61_000 }
  await sessions.save(session)
  expect(await sessions.find('main', 'h')).toEqual(session)
})

it.each([
  { openedAt: 61_000, now: 62_000, waitMs: 58_000 },
  { openedAt: 61_000, now: 120_000, waitMs: 0 },
  { openedAt: 61_000, now: 900_000, waitMs: 0 },
  { openedAt: 120_000, now: 120_000, waitMs: 60_000 },
  { openedAt: 9_000_000, now: 120_000, waitMs: 60_000 },
])('a session opened at $openedAt is continued after $waitMs ms at $now', ({ openedAt, now, waitMs }) => {
  expect(restOfMinuteMs({ openedAt }, now)).toBe(waitMs)
})
