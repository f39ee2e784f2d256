import { setImmediate as breath } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { verifies } from '../../../../../tests/verifies.ts'
import { createManualClock } from '../../../../protocol/src/testing/manual-clock.ts'
import { startCron, startOfTime } from '../../../../testing/src/cron-harness.ts'

const minute = 60_000

/** The times at which a job of this schedule fires in the first minute, in seconds. Schedule and file are real. */
async function firings(schedule: string, startsAt = startOfTime): Promise<readonly number[]> {
  const byHand = createManualClock(startsAt)
  const sleepers = new Set<object>()
  const clock: typeof byHand = {
    ...byHand,
    sleep: (ms, signal) => {
      const sleeper = {}
      sleepers.add(sleeper)
      return byHand.sleep(ms, signal).finally(() => sleepers.delete(sleeper))
    },
  }
  const at: number[] = []
  const { cron, add } = await startCron({
    clock,
    parts: {
      fireHeartbeat: async () => {
        at.push((clock.now() - startOfTime) / 1000)
        return { skipped: 'nothing to do' }
      },
    },
  })
  await add({ agent: 'clerk', schedule, heartbeat: true })
  const closing = new AbortController()
  const running = cron.run(closing.signal)
  while (clock.now() < startOfTime + minute) {
    // Reading the file takes time on a real disk; here no time passes.
    while (sleepers.size === 0) await breath()
    await clock.advance(500)
  }
  while (sleepers.size === 0) await breath()
  closing.abort()
  await running
  return at
}

const eachTick = [5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60]

describe('the clock of the jobs', () => {
  it('the clock ticks every 5 seconds, whatever is due in between', async () => {
    verifies('events:cron:tick', 'limits:cron-tick')
    expect(await firings('every 5s')).toEqual(eachTick)
    // Due at 6, 12, 18 and so on; each waits for its tick.
    expect(await firings('every 6s')).toEqual([10, 15, 20, 25, 30, 40, 45, 50, 55, 60])
    expect(await firings('every 13s')).toEqual([15, 30, 40, 55])
  })

  it('ticks are aligned to multiples of five seconds, whenever the mesh started', async () => {
    expect(await firings('every 5s', startOfTime + 1234)).toEqual(eachTick)
  })

  it.each(['every 1s', 'every 2s', 'every 4s'])(
    '%s does not fire more often than the clock ticks',
    async (schedule) => {
      verifies('events:cron:not-faster-than-tick')
      expect(await firings(schedule)).toEqual(eachTick)
    },
  )

  it('a tick after a long downtime gives way to the event loop between due times of one job', async () => {
    let breaths = 0
    const published: number[] = []
    const events = {
      publish: () => {
        published.push(breaths)
        return undefined as never
      },
    }
    const { cron, add, clock, rows } = await startCron({ parts: { events } })
    const ids: string[] = []
    for (const agent of ['clerk', 'cook', 'guard']) {
      const { id } = await add({
        agent,
        schedule: '* * * * *',
        timezone: 'America/New_York',
        message: 'look',
      })
      ids.push(id)
    }
    await clock.leap(30 * 24 * 60 * minute)
    published.length = 0
    const over = new AbortController()
    const counting = (async () => {
      for (; !over.signal.aborted; breaths++) await breath()
    })()
    await cron.tick()
    over.abort()
    await counting
    for (const id of ids)
      expect(rows(id)).toMatchObject([
        { state: 'skipped', count: 5000, countExact: false },
        { state: 'fired' },
      ])
    // 5000 due times of each job in steps of 50; the first and the last job are two plans apart.
    expect(Math.max(...published) - Math.min(...published)).toBeGreaterThanOrEqual(190)
  })
})
