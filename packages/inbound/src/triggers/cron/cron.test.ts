import { describe, expect, it } from 'vitest'
import { heedsLesson, verifies } from '../../../../../tests/verifies.ts'
import { firedPerTickMax } from './cron-ticker.ts'
import type { FireHeartbeat } from './cron-deps.ts'
import {
  aJob,
  owner,
  startCron,
  problemOf,
  startOfTime,
  writeByHand,
} from '../../../../testing/src/cron-harness.ts'
import { runLimits } from '@flotilla/work/runs'

const minute = 60_000
describe('a due time', () => {
  it('a due time becomes one run of its agent with the origin cron and the name of its maker', async () => {
    verifies(
      'purpose:mesh:runs-cron',
      'events:cron:mode-by-fields',
      'events:cron:message-mode',
      'events:cron:tool-mode',
      'resources:cron-job:message',
      'resources:cron-job:tool-name',
      'resources:cron-job:tool-params',
      'resources:cron-job:identifier-field',
      'resources:cron-job:target-field',
    )
    const harness = await startCron()
    const says = await harness.add({ agent: 'clerk', schedule: '*/5 * * * *', message: 'look' })
    const acts = await harness.add({
      agent: 'clerk',
      schedule: 'every 10m',
      tool_name: 'http_request',
      tool_params: { url: 'https://example.org' },
    })
    expect([says.mode, acts.mode]).toEqual(['message', 'tool'])
    expect(await harness.tickAfter(5 * minute - 1)).toBe(0)
    expect(await harness.tickAfter(1)).toBe(1)
    expect(await harness.tickAfter(1)).toBe(0)
    await harness.tickAfter(5 * minute - 1)
    const [first, , tool] = [...harness.runs(), ...harness.runs()]
    expect(first).toMatchObject({
      agentId: 'clerk',
      kind: 'chat',
      origin: { kind: 'cron', user: 'human:cli' },
      input: { message: 'look', session: `cron:${says.id}:${startOfTime + 5 * minute}` },
    })
    expect(harness.runs().map(({ kind }) => kind)).toContain('tool')
    expect(tool).toBeDefined()
    expect(harness.runs().find(({ kind }) => kind === 'tool')?.input).toEqual({
      kind: 'tool',
      tool: 'http_request',
      params: { url: 'https://example.org' },
    })
    // The message of the second due time waits behind the unfinished first run.
    expect(harness.rows(says.id)).toMatchObject([
      { state: 'fired', dueAt: startOfTime + 5 * minute, lateMs: 0, runId: first?.id },
      { state: 'skipped', reason: 'overlap' },
    ])
  })

  it('a due time is skipped and counted while the previous run is unfinished', async () => {
    heedsLesson(77)
    const harness = await startCron()
    const { id } = await harness.add({ agent: 'clerk', schedule: 'every 1m', message: 'look' })
    for (let count = 0; count < 6; count++) await harness.tickAfter(minute)
    expect(harness.rows(id)).toMatchObject([
      { state: 'fired' },
      { state: 'skipped', reason: 'overlap', count: 5, dueUntil: startOfTime + 6 * minute },
    ])
    expect(harness.cron.list(owner).jobs).toMatchObject([{ run_count: 1, skip_count: 5 }])
    harness.end(harness.runs()[0]?.id ?? '')
    await harness.tickAfter(minute)
    expect(harness.runs()).toHaveLength(2)
    expect(harness.cron.history(owner, id, 10).why[0]).toMatch(/, made by owner \(terminal\)\.$/)
    expect(harness.cron.history(owner, id, 10).why.join('\n')).toMatch(
      /5 due times: skipped \(overlap\): the previous firing of the job is running as run_/,
    )
  })

  it('a due time during a blocked event loop fires once and counts as late', async () => {
    heedsLesson(78)
    const harness = await startCron()
    const { id } = await harness.add({ agent: 'clerk', schedule: '* * * * *', message: 'look' })
    await harness.tickAfter(minute + 30_000)
    expect(harness.rows(id)).toMatchObject([{ state: 'fired', dueAt: startOfTime + minute, lateMs: 30_000 }])
    expect(harness.cron.history(owner, id, 1).rows).toMatchObject([{ late: true, late_ms: 30_000 }])
    await harness.tickAfter(30_000)
    expect(harness.rows(id)).toHaveLength(2)
  })

  it('the last due time during a downtime fires once at start, and earlier ones share a row', async () => {
    const harness = await startCron()
    const { id } = await harness.add({ agent: 'clerk', schedule: 'every 5s', message: 'look' })
    await harness.tickAfter(5000)
    harness.end(harness.runs()[0]?.id ?? '')
    await harness.clock.leap(24 * 3600 * 1000)
    const next = await harness.again()
    await next.cron.tick()
    await next.cron.tick()
    expect(next.rows(id)).toMatchObject([
      { state: 'fired' },
      { state: 'skipped', reason: 'missed', count: 24 * 720 - 1, countExact: true },
      { state: 'fired', dueAt: startOfTime + 5000 + 24 * 3600 * 1000 },
    ])
    expect(next.cron.history(owner, id, 10).why.join('\n')).toMatch(/17279 due times: skipped \(missed\)/)
  })

  it('a due time does not fire twice after the clock was set back, and skipped ones are due again', async () => {
    const harness = await startCron()
    const { id } = await harness.add({ agent: 'clerk', schedule: 'every 1m', message: 'look' })
    for (let count = 1; count <= 3; count++) {
      await harness.tickAfter(minute)
      if (count === 1) harness.end(harness.runs()[0]?.id ?? '')
    }
    // Fired at 1 and 2, overlap at 3; then the clock goes to half past 1.
    expect(harness.rows(id).map(({ state }) => state)).toEqual(['fired', 'fired', 'skipped'])
    harness.end(harness.runs()[1]?.id ?? '')
    await harness.tickAfter(-1.5 * minute)
    await harness.tickAfter(0.5 * minute)
    expect(harness.runs()).toHaveLength(2)
    await harness.tickAfter(minute)
    expect(harness.rows(id).map(({ state, dueAt }) => [state, (dueAt - startOfTime) / minute])).toEqual([
      ['fired', 1],
      ['fired', 2],
      ['fired', 3],
    ])
  })

  it('a due time of a clock that jumped a year ahead and back fires at its real time', async () => {
    const harness = await startCron()
    const { id } = await harness.add({ agent: 'clerk', schedule: 'every 1h', message: 'look' })
    const year = 365 * 24 * 3600 * 1000
    await harness.tickAfter(year)
    harness.end(harness.runs()[0]?.id ?? '')
    expect(harness.runs()).toHaveLength(1)
    await harness.tickAfter(-year)
    await harness.tickAfter(60 * minute)
    expect(harness.runs()).toHaveLength(2)
    expect(harness.rows(id).map(({ dueAt, state }) => [state, dueAt - startOfTime])).toEqual([
      ['fired', year],
      ['fired', 60 * minute],
    ])
  })

  it('a due time is checked against its condition, with the local time and the last outcome', async () => {
    const harness = await startCron()
    const { id } = await harness.add({
      agent: 'clerk',
      schedule: 'every 1h',
      timezone: 'Europe/Berlin',
      message: 'look',
      when: 'now.weekday == "MON" and now.hour >= 3 and last.outcome != "cancelled"',
    })
    for (let count = 0; count < 4; count++) {
      await harness.tickAfter(60 * minute)
      for (const run of harness.runs()) if (run.state === 'queued') harness.end(run.id)
    }
    expect(harness.rows(id)).toMatchObject([
      { state: 'skipped', reason: 'condition', dueAt: startOfTime + 60 * minute },
      { state: 'fired', dueAt: startOfTime + 120 * minute },
      { state: 'skipped', reason: 'condition', count: 2 },
    ])
    expect(
      (await problemOf(harness.add({ agent: 'clerk', schedule: 'every 1h', message: 'x', when: '1 +' })))
        .detail,
    ).toMatch(/^when: /)
  })

  it('a due time waits while its agent is paused, says so, and fires once afterwards', async () => {
    let paused: string | null = 'the owner said so'
    const harness = await startCron({ parts: { pausedReason: () => paused } })
    const { id } = await harness.add({ agent: 'clerk', schedule: 'every 1m', message: 'look' })
    for (const _ of [1, 2, 3]) await harness.tickAfter(minute)
    expect(harness.rows(id)).toMatchObject([
      { state: 'skipped', reason: 'paused', detail: 'the owner said so', count: 2 },
    ])
    paused = null
    await harness.tickAfter(5000)
    await harness.tickAfter(5000)
    expect(harness.rows(id)).toMatchObject([{ state: 'skipped' }, { state: 'fired', lateMs: 5000 }])
    await harness.tickAfter(minute)
    expect(harness.rows(id)).toHaveLength(3)
  })

  it('a due time of a paused agent takes no place in a tick', async () => {
    const harness = await startCron({
      parts: { pausedReason: (agentId) => (agentId === 'clerk' ? 'paused' : null) },
    })
    for (let made = 0; made < 40; made += 1)
      await harness.add({ agent: 'clerk', schedule: 'every 1m', message: `held ${made}` })
    await harness.add({ agent: 'scribe', schedule: 'every 1m', message: 'mine' })
    await harness.tickAfter(minute)
    expect(await harness.tickAfter(5000)).toBe(0)
  })
})

describe('many jobs', () => {
  it('a failing job does not affect the others', async () => {
    heedsLesson(71)
    const harness = await startCron({
      parts: {
        readCondition: () => () => {
          throw new Error('boom')
        },
      },
    })
    const bad = await harness.add({
      agent: 'clerk',
      schedule: 'every 1m',
      message: 'bad',
      when: 'now.hour > 0',
    })
    const good = await harness.add({ agent: 'clerk', schedule: 'every 1m', message: 'good' })
    await harness.tickAfter(minute)
    await harness.tickAfter(minute)
    expect(harness.rows(bad.id)).toMatchObject([
      { state: 'skipped', reason: 'error', detail: 'boom', count: 2 },
    ])
    expect(harness.rows(good.id)).toMatchObject([{ state: 'fired' }, { reason: 'overlap' }])
  })

  it('a limited number of jobs fire per tick, and the others at the next one', async () => {
    heedsLesson(72)
    const harness = await startCron()
    const total = firedPerTickMax + 30
    const jobs = Array.from({ length: total }, (_, at) => aJob({ id: `j${at}`, agent: `agent-${at}` }))
    await writeByHand(harness, jobs)
    await harness.cron.tick()
    expect(await harness.tickAfter(minute)).toBe(firedPerTickMax)
    expect(await harness.tickAfter(15_000)).toBe(30)
    const rows = jobs.flatMap(({ id }) => harness.rows(id))
    expect(rows.filter(({ state }) => state === 'fired')).toHaveLength(total)
    expect(rows.filter(({ lateMs }) => lateMs === 15_000)).toHaveLength(30)
  })

  it('an agent has at most 50 jobs, at the API and in the file', async () => {
    heedsLesson(72)
    const harness = await startCron()
    await writeByHand(
      harness,
      Array.from({ length: 49 }, (_, at) => aJob({ id: `j${at}` })),
    )
    await harness.cron.tick()
    const tries = [1, 2, 3].map(() => harness.add({ agent: 'clerk', schedule: 'every 1h', message: 'x' }))
    const ends = await Promise.allSettled(tries)
    expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(
      (await problemOf(harness.add({ agent: 'clerk', schedule: 'every 1h', message: 'x' }))).detail,
    ).toMatch(/more than 50 jobs/)
    await harness.add({ agent: 'writer', schedule: 'every 1h', message: 'x' })
  })

  it('jobs of an archived agent get no run, and the row says why', async () => {
    heedsLesson(81)
    const harness = await startCron()
    const { id } = await harness.add({ agent: 'clerk', schedule: 'every 1m', message: 'look' })
    harness.archived.add('clerk')
    for (let count = 0; count < 3; count++) await harness.tickAfter(minute)
    expect(harness.runs()).toHaveLength(0)
    expect(harness.rows(id)).toMatchObject([{ state: 'skipped', reason: 'refused', count: 3 }])
    expect(harness.rows(id)[0]?.detail).toMatch(/agent-archived/)
    expect((await problemOf(harness.add({ agent: 'clerk', schedule: 'every 1h', message: 'x' }))).code).toBe(
      'agent-archived',
    )
    harness.archived.delete('clerk')
    await harness.tickAfter(minute)
    expect(harness.runs()).toHaveLength(1)
  })
})

describe('a manual run of a job', () => {
  it('a manual run starts although the job is disabled, overlapping or its condition does not hold', async () => {
    heedsLesson(74)
    verifies('states:cron:manual-run-dispatches', 'resources:cron-job:enabled')
    const harness = await startCron()
    const { id } = await harness.add({
      agent: 'clerk',
      schedule: 'every 1m',
      message: 'look',
      enabled: false,
      when: 'now.hour > 50',
    })
    await harness.tickAfter(10 * minute)
    expect(harness.rows(id)).toEqual([])
    const first = await harness.cron.runNow(owner, id)
    const second = await harness.cron.runNow(owner, id)
    expect([first, second]).toMatchObject([
      { state: 'fired', manual: true },
      { state: 'fired', manual: true },
    ])
    expect(harness.runs().map(({ state }) => state)).toEqual(['queued', 'queued'])
    expect(first.run_id).not.toBe(second.run_id)
  })

  it('a manual run is placed at the head of a full lane, once per job, whatever holds triggers', async () => {
    const harness = await startCron({ parts: { pausedReason: () => 'moving house' } })
    const one = await harness.add({ agent: 'clerk', schedule: 'every 1m', message: 'one' })
    const two = await harness.add({ agent: 'clerk', schedule: 'every 1m', message: 'two', enabled: false })
    for (let count = 0; count < runLimits.laneQueueMax; count++) await harness.cron.runNow(owner, one.id)
    await harness.clock.leap(minute)
    const first = await harness.cron.runNow(owner, two.id)
    expect(first).toMatchObject({ state: 'fired', manual: true })
    for (let count = 0; count < 5; count++) {
      expect(await harness.cron.runNow(owner, two.id)).toEqual(first)
      expect((await harness.cron.runNow(owner, one.id)).state).toBe('fired')
    }
    expect(harness.ledger.queue.laneOf('clerk').queued).toBe(runLimits.laneQueueMax + 1)
    expect(harness.rows(two.id)).toHaveLength(1)
    harness.ledger.start()
    await harness.clock.settle()
    expect(harness.ledger.queries.find(first.run_id ?? '')?.state).toBe('running')
  })

  it('a manual run for a missing agent is rejected to the caller', async () => {
    const harness = await startCron()
    const { id } = await harness.add({ agent: 'clerk', schedule: 'every 1m', message: 'look' })
    await harness.cron.forget('clerk')
    expect((await problemOf(harness.cron.runNow(owner, id))).code).toBe('not-found')
    expect(harness.runs()).toEqual([])
  })

  it('a manual heartbeat returns its result', async () => {
    verifies('events:cron:heartbeat-mode', 'resources:cron-job:heartbeat')
    const asked: object[] = []
    const harness = await startCron({
      parts: {
        fireHeartbeat: async (agentId, firing) => {
          asked.push({ agentId, ...firing })
          return { skipped: 'nothing happened' }
        },
      },
    })
    const { id, mode } = await harness.add({ agent: 'clerk', schedule: 'every 15m', heartbeat: true })
    expect(mode).toBe('heartbeat')
    expect(await harness.cron.runNow(owner, id)).toMatchObject({
      state: 'skipped',
      detail: 'nothing happened',
    })
    await harness.tickAfter(15 * minute)
    await harness.clock.settle()
    expect(harness.rows(id)).toMatchObject([{ manual: true }, { manual: false, reason: 'heartbeat' }])
    expect(asked).toMatchObject([
      { agentId: 'clerk', manual: true, jobId: id },
      { agentId: 'clerk', manual: false, jobId: id, dueAt: startOfTime + 15 * minute },
    ])
  })
})

describe('interruptions', () => {
  it('an interruption between row and run leaves neither, and the due time fires once afterwards', async () => {
    const harness = await startCron()
    const { id } = await harness.add({ agent: 'clerk', schedule: 'every 1m', message: 'look' })
    const broken = await harness.again({
      parts: {
        ledger: {
          find: harness.ledger.queries.find,
          isLaneFull: harness.ledger.queue.isLaneFull,
          submitRun: (caller, input) => {
            harness.ledger.queue.submitRun(caller, input)
            throw new Error('the power went out')
          },
        },
        // Even the row that would record it cannot be written.
        events: {
          publish: () => {
            throw new Error('the power went out')
          },
        },
      },
    })
    await broken.tickAfter(minute)
    expect(broken.runs()).toEqual([])
    expect(broken.rows(id)).toEqual([])
    const whole = await broken.again({ parts: {} })
    await whole.clock.leap(20_000)
    await whole.cron.tick()
    await whole.cron.tick()
    expect(whole.runs()).toHaveLength(1)
    expect(whole.rows(id)).toMatchObject([{ state: 'fired', lateMs: 20_000 }])
  })

  it('a due time whose rows were written without a commit fires once in the same process', async () => {
    const harness = await startCron()
    const { id } = await harness.add({ agent: 'clerk', schedule: 'every 1m', message: 'look' })
    // The foreign key is checked at the commit, so the commit fails.
    harness.database.exec(`
      CREATE TABLE full_disk (run_id TEXT REFERENCES runs (id) DEFERRABLE INITIALLY DEFERRED);
      CREATE TRIGGER full_disk AFTER INSERT ON cron_rows BEGIN INSERT INTO full_disk VALUES ('none'); END`)
    await harness.tickAfter(minute)
    expect([harness.runs(), harness.rows(id)]).toEqual([[], []])
    harness.database.exec('DROP TRIGGER full_disk')
    await harness.tickAfter(5000)
    expect(harness.rows(id)).toMatchObject([{ dueAt: startOfTime + minute, state: 'fired', lateMs: 5000 }])
  })

  it('an interrupted heartbeat request is repeated under the same due time', async () => {
    const asked: number[] = []
    let answer: Awaited<ReturnType<FireHeartbeat>> | null = null
    const fireHeartbeat: FireHeartbeat = async (_agentId, { dueAt }) => {
      asked.push(dueAt)
      return answer ?? new Promise(() => {})
    }
    const harness = await startCron({ parts: { fireHeartbeat } })
    const { id } = await harness.add({ agent: 'clerk', schedule: 'every 15m', heartbeat: true })
    await harness.tickAfter(15 * minute)
    expect(harness.rows(id)).toMatchObject([{ state: 'firing' }])
    const run = harness.ledger.queue.submitRun(
      { kind: 'system' },
      { agentId: 'clerk', input: { kind: 'heartbeat', message: 'x' }, trigger: 'heartbeat' },
    )
    harness.end(run.id)
    answer = { fired: run }
    const next = await harness.again()
    const stopping = new AbortController()
    const running = next.cron.run(stopping.signal)
    await next.clock.settle()
    stopping.abort()
    await running
    expect(asked).toEqual([startOfTime + 15 * minute, startOfTime + 15 * minute])
    // It had ended before it was recorded.
    expect(next.rows(id)).toMatchObject([{ state: 'fired', runId: run.id, outcome: 'cancelled' }])
  })
})
