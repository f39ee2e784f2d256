import { contextLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, test } from 'vitest'
import { migrated } from '../../../../../tests/support/model-harness.ts'
import { createManualClock } from '../../../../protocol/src/testing/manual-clock.ts'
import { silentLog } from '../../../../foundation/src/platform/log.ts'
import { createStatedWindows } from './stated-windows.ts'

const refusal = (words: string, refusedBy = 'lab/x') =>
  new Problem('prompt-too-long', { detail: words, extra: { refused_by: refusedBy } })
const small = 'maximum context length is 8192 tokens'

function someWindows() {
  const database = migrated()
  const clock = createManualClock()
  const open = () => createStatedWindows({ database, clock, log: silentLog })
  return { database, clock, open, windows: open() }
}

describe('what providers state of windows', () => {
  test('a stated window applies to the agent that received it, to no other agent, and survives restarts', () => {
    const { clock, open, windows } = someWindows()
    windows.refused('scout', refusal(small))
    const told = [{ agent_id: 'scout', tokens: 8192, until: clock.now() + contextLimits.learnedWindowMs }]
    expect(windows.of('lab/x')).toEqual(told)
    expect(windows.of('lab/y')).toEqual([])
    expect(open().of('lab/x')).toEqual(told)
  })

  test('what providers state of windows ends after an hour', async () => {
    const { clock, open, windows } = someWindows()
    windows.refused('scout', refusal(small))
    await clock.advance(contextLimits.learnedWindowMs)
    expect(windows.of('lab/x')).toEqual([])
    expect(open().of('lab/x')).toEqual([])
  })

  test('what providers state of windows is forgotten when a longer prompt of the same agent is answered', () => {
    const { open, windows } = someWindows()
    windows.refused('scout', refusal(small))
    windows.answered('other', 'lab/x', 100_000)
    windows.answered('scout', 'lab/y', 100_000)
    windows.answered('scout', 'lab/x', 8192)
    expect(windows.of('lab/x')).toHaveLength(1)
    windows.answered('scout', 'lab/x', 8193)
    expect(windows.of('lab/x')).toEqual([])
    expect(open().of('lab/x')).toEqual([])
  })

  test.each(['prompt is too long', 'maximum context length is 5 tokens', 'context length exceeded: 9000'])(
    'a rejection without a limit in it changes no window: %s',
    (words) => {
      const { windows } = someWindows()
      windows.refused('scout', refusal(words))
      expect(windows.of('lab/x')).toMatchObject([{ tokens: null }])
    },
  )

  test('what providers state of windows takes no other refusal for one because of length', () => {
    const { windows } = someWindows()
    windows.refused('scout', new Problem('rate-limited', { detail: small, extra: { refused_by: 'lab/x' } }))
    windows.refused('scout', new Problem('prompt-too-long', { detail: small }))
    windows.refused('scout', new Error(small))
    expect(windows.of('lab/x')).toEqual([])
  })

  test('what providers state of windows does not pile up by names that an agent makes up', () => {
    const { database, windows } = someWindows()
    windows.refused('other', refusal(small))
    for (let count = 0; count < 500; count++) windows.refused('scout', refusal(small, `lab/${count}`))
    const rows = database.prepare('SELECT count(*) AS n FROM stated_windows').get()
    expect(rows).toEqual({ n: 51 })
    expect(windows.of('lab/x')).toMatchObject([{ agent_id: 'other' }])
    expect(windows.of('lab/499')).toHaveLength(1)
  })

  test('a failed write of a stated window does not fail the answer', () => {
    const { database, windows } = someWindows()
    database.exec('DROP TABLE stated_windows')
    expect(() => windows.refused('scout', refusal(small))).not.toThrow()
    expect(windows.of('lab/x')).toHaveLength(1)
    expect(() => windows.answered('scout', 'lab/x', 9000)).not.toThrow()
  })
})
