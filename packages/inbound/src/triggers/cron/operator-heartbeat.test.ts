import { readFile, rm, writeFile } from 'node:fs/promises'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { verifies } from '../../../../../tests/verifies.ts'
import type { Caller } from '../../../../identity/src/access/caller.ts'
import type { RunRecord } from '../../../../work/src/runs/ledger/run-record.ts'
import {
  aJob,
  noSignal,
  owner,
  startCron,
  problemOf,
  startOfTime,
  writeByHand,
} from '../../../../testing/src/cron-harness.ts'
import type { CronHarness, CronHarnessOptions } from '../../../../testing/src/cron-harness.ts'

const minute = 60_000
const operator = 'operator'
const inChat: Caller = { kind: 'human', role: 'owner', channel: 'telegram', user: 'owner' }
const agent = (agentId: string): Caller => ({ kind: 'agent', agentId, token: 'door', run: null })
const mayAll = { can_manage_cron: true, can_edit_agent_config: true, can_view_fleet_metrics: true }

/** A home whose operator has its heartbeat, and a job of another agent. */
async function aFleetThatLooksAround(options: CronHarnessOptions = {}) {
  const fired: number[] = []
  const harness = await startCron({
    ...options,
    parts: {
      fireHeartbeat: async (_agentId, { dueAt }) => {
        fired.push(dueAt)
        return { skipped: 'nothing to do' }
      },
      ...options.parts,
    },
  })
  await harness.cron.heartbeatJobs.put({ agentId: operator, schedule: 'every 15m' })
  const other = await harness.add({ agent: 'clerk', schedule: 'every 1h', message: 'look' })
  for (const id of [operator, 'clerk']) harness.permit(id, mayAll)
  const id = harness.cron.heartbeatJobs.find(operator)?.id ?? ''
  const heart = (await jobsOf(harness)).find((job) => job['id'] === id) ?? {}
  return { ...harness, fired, id, heart, other }
}

type Written = Record<string, unknown>

async function jobsOf(harness: Pick<CronHarness, 'path'>): Promise<Written[]> {
  return (JSON.parse(await readFile(harness.path, 'utf8')) as { jobs: Written[] }).jobs
}

/** True if the heartbeat fires in the next 15 minutes. */
async function heartbeats(harness: Pick<CronHarness, 'tickAfter' | 'clock'>, fired: readonly number[]) {
  const before = fired.length
  await harness.tickAfter(15 * minute)
  await harness.clock.settle()
  return fired.length - before
}

describe("locking the operator's heartbeat", () => {
  it.each<[string, Caller]>([
    ['a person', owner],
    ['a person in a chat', inChat],
    ['the operator', agent(operator)],
    ['a worker that may edit agents', agent('clerk')],
    ['a program of this machine', { kind: 'internal' }],
  ])(
    "the operator's heartbeat cannot be disabled, conditioned, changed or removed by %s",
    async (_who, caller) => {
      verifies('resources:operator:heartbeat-locked', 'events:heartbeat:operator-locked')
      const harness = await aFleetThatLooksAround()
      const { cron, id } = harness
      const before = await jobsOf(harness)
      for (const change of [
        { enabled: false },
        { when: 'now.hour > 50' },
        { when: 'true == true' },
        { schedule: 'every 366d' },
        { schedule: '0 0 1 1 *' },
        { message: 'do nothing' },
        { suppress_empty: false },
        { enabled: false, schedule: 'every 15m' },
        { tool_name: 'http_request' },
      ]) {
        const { code } = await problemOf(cron.update(caller, { id, change }, noSignal))
        expect(['bad-request', 'denied'], JSON.stringify(change)).toContain(code)
      }
      expect(['bad-request', 'denied']).toContain((await problemOf(cron.remove(caller, id))).code)
      expect(await jobsOf(harness)).toEqual(before)
      expect(await heartbeats(harness, harness.fired)).toBe(1)
    },
  )

  it("the refusal names the pause that holds the operator's heartbeat", async () => {
    const { cron, id } = await aFleetThatLooksAround()
    const refused = await problemOf(cron.update(owner, { id, change: { enabled: false } }, noSignal))
    expect(refused).toMatchObject({ code: 'bad-request', extra: { field: 'enabled' } })
    expect(refused.detail).toMatch(/heartbeat of the operator.*flotilla pause operator/)
    // A change without a difference is accepted.
    await cron.update(owner, { id, change: { enabled: true, schedule: 'every 15m', when: '' } }, noSignal)
  })

  it("the operator's heartbeat cannot be disabled or replaced through the heartbeat port", async () => {
    const harness = await aFleetThatLooksAround()
    const { heartbeatJobs } = harness.cron
    for (const put of [{ schedule: 'every 15m', enabled: false }, { schedule: 'every 1h' }]) {
      expect((await problemOf(heartbeatJobs.put({ agentId: operator, ...put }))).code).toBe('bad-request')
    }
    expect((await problemOf(heartbeatJobs.remove(operator))).code).toBe('bad-request')
    expect(
      (await problemOf(harness.add({ agent: operator, schedule: 'every 15m', heartbeat: true }))).code,
    ).toBe('unprocessable')
    expect(heartbeatJobs.find(operator)).toMatchObject({ schedule: 'every 15m', enabled: true })
  })

  it("the operator's heartbeat stays when its listed maker is deleted or loses permissions", async () => {
    const harness = await aFleetThatLooksAround()
    const { heart } = harness
    // As earlier releases allowed a worker to be listed.
    await writeByHand(harness, [{ ...heart, created_by: 'agent:clerk' }])
    const next = await harness.again()
    expect(next.cron.broken()).toBeNull()
    next.permit('clerk', {})
    expect(await heartbeats(next, harness.fired)).toBe(1)
    await next.cron.forget('clerk')
    expect(next.cron.heartbeatJobs.find(operator)).toMatchObject({ enabled: true })
    expect(await heartbeats(next, harness.fired)).toBe(1)
  })

  it("the operator's heartbeat fires although the previous one waits for a hand-off", async () => {
    const first = await startCron()
    const { ledger } = first.parts
    const runs = new Map<string, RunRecord>()
    const harness = await first.again({
      parts: {
        fireHeartbeat: async (_agentId, { dueAt }) => {
          const run = { id: `run_${dueAt}`, state: 'waiting' } as RunRecord // the only fields that are used
          runs.set(run.id, run)
          return { fired: run }
        },
        ledger: { ...ledger, find: (runId) => runs.get(runId) ?? ledger.find(runId) },
      },
    })
    await harness.cron.heartbeatJobs.put({ agentId: operator, schedule: 'every 15m' })
    const id = harness.cron.heartbeatJobs.find(operator)?.id ?? ''
    for (let times = 0; times < 3; times++) {
      await harness.tickAfter(15 * minute)
      await harness.clock.settle()
    }
    expect(harness.rows(id).map(({ state }) => state)).toEqual(['fired', 'fired', 'fired'])
  })

  it("the operator's heartbeat takes no place of its other jobs, and they do not displace it", async () => {
    const harness = await startCron()
    for (let at = 0; at < 50; at++) {
      await harness.add({ agent: operator, schedule: 'every 1d', message: `${at}` })
    }
    await harness.cron.heartbeatJobs.put({ agentId: operator, schedule: 'every 15m' })
    expect((await problemOf(harness.add({ agent: operator, schedule: 'every 1d', message: 'x' }))).code).toBe(
      'unprocessable',
    )
    expect(harness.cron.broken()).toBeNull()
  })
})

describe("editing the operator's heartbeat by hand", () => {
  const changes: readonly [string, (heart: Written) => readonly Written[], line: number][] = [
    ['disables it', (heart) => [{ ...heart, enabled: false }], 8],
    ['gives it a condition', (heart) => [{ ...heart, when: 'now.hour > 50' }], 13],
    ['lengthens its interval', (heart) => [{ ...heart, schedule: 'every 366d' }], 6],
    ['adds a message', (heart) => [{ ...heart, message: 'sleep' }], 13],
    ['changes its time zone', (heart) => [{ ...heart, timezone: 'Europe/Berlin' }], 7],
    ['stops suppressing empty answers', (heart) => [{ ...heart, suppress_empty: false }], 9],
    ['changes its id', (heart) => [{ ...heart, id: 'mine' }], 4],
    ['changes its maker', (heart) => [{ ...heart, created_by: 'agent:nobody' }], 11],
    ['changes its creation time', (heart) => [{ ...heart, created_at: startOfTime + 7 * minute }], 12],
    ['gives it to a worker', (heart) => [{ ...heart, agent: 'writer' }], 5],
    ['makes it a message', (heart) => [{ ...heart, heartbeat: false, message: 'x' }], 10],
    ['removes it', () => [], 2],
  ]

  it.each(changes)(
    'an edit by hand that %s is rejected with line, reason and repair, and everything continues',
    async (...given) => {
      const [, change, line] = given
      const harness = await aFleetThatLooksAround()
      const { heart, fired, other, cron } = harness
      const whole = await readFile(harness.path, 'utf8')
      await writeByHand(harness, [...change(heart), aJob({ id: 'new-job' })])
      await cron.tick()
      expect(cron.broken()).toMatch(
        new RegExp(
          `^config/cron\\.json line ${line}: .*heartbeat of the operator.*flotilla pause operator.*the previous jobs stay in force`,
        ),
      )
      expect(cron.list(owner).jobs.map(({ id }) => id)).toEqual([harness.id, other.id])
      expect(await heartbeats(harness, fired)).toBe(1)
      expect(await heartbeats(harness, fired)).toBe(1)
      // Nor can it be included in an edit of another job.
      const refused = await problemOf(
        cron.update(owner, { id: other.id, change: { message: 'y' } }, noSignal),
      )
      expect(refused.code).toBe('unprocessable')
      await writeFile(harness.path, whole)
      await cron.tick()
      expect(cron.broken()).toBeNull()
      expect(cron.list(owner).jobs).toHaveLength(2)
    },
  )

  it('an edit by hand that removes the whole file is reported', async () => {
    const harness = await aFleetThatLooksAround()
    await harness.cron.tick()
    await rm(harness.path)
    await harness.cron.tick()
    expect(harness.cron.broken()).toMatch(/cron\.json is missing.*heartbeat of the operator/)
    expect(await heartbeats(harness, harness.fired)).toBe(1)
  })

  it("an edit by hand may change what surrounds the operator's heartbeat", async () => {
    const harness = await aFleetThatLooksAround()
    await writeByHand(harness, [aJob({ id: 'new-job' }), harness.heart])
    await harness.cron.tick()
    expect(harness.cron.broken()).toBeNull()
    const ids = harness.cron.list(owner).jobs.map(({ id }) => id)
    expect(ids).toHaveLength(2)
    expect(ids).toEqual(expect.arrayContaining(['new-job', harness.id]))
  })

  it('an edit by hand during a downtime is reverted at start, and the other jobs stay as edited', async () => {
    const harness = await aFleetThatLooksAround()
    const { heart } = harness
    await writeByHand(harness, [
      { ...heart, enabled: false, when: 'now.hour > 50', schedule: 'every 366d', message: 'sleep' },
      aJob({ id: 'new-job' }),
    ])
    const next = await harness.again()
    expect(next.cron.broken()).toBeNull()
    expect(await jobsOf(next)).toMatchObject([heart, { id: 'new-job' }])
    expect(Object.keys((await jobsOf(next))[0] ?? {}).toSorted()).toEqual(Object.keys(heart).toSorted())
    expect(await heartbeats(next, harness.fired)).toBe(1)
  })

  it("a file that was broken during a downtime does not stop the operator's heartbeat", async () => {
    const harness = await aFleetThatLooksAround()
    const whole = await readFile(harness.path, 'utf8')
    await writeFile(harness.path, whole.slice(0, -4))
    const next = await harness.again()
    expect(next.cron.broken()).toMatch(/line \d+/)
    // Every start does this, also if it cannot write the file.
    const put = next.cron.heartbeatJobs.put({ agentId: operator, schedule: 'every 15m' })
    expect((await problemOf(put)).code).toBe('unprocessable')
    expect(next.cron.heartbeatJobs.find(operator)).toMatchObject({ schedule: 'every 15m', enabled: true })
    expect(await heartbeats(next, harness.fired)).toBe(1)
    expect(await heartbeats(next, harness.fired)).toBe(1)
    await writeFile(next.path, whole)
    await next.cron.tick()
    expect(next.cron.broken()).toBeNull()
    const hearts = next.cron.list(owner).jobs.filter(({ heartbeat }) => heartbeat)
    expect(hearts.map(({ id }) => id)).toEqual([harness.id])
  })

  it("the operator's heartbeat is written to a repaired file that never had it", async () => {
    const harness = await startCron()
    await writeFile(harness.path, '{')
    await harness.cron.tick()
    await problemOf(harness.cron.heartbeatJobs.put({ agentId: operator, schedule: 'every 15m' }))
    await writeByHand(harness, [aJob({ id: 'mine' })])
    await harness.cron.tick()
    await harness.cron.tick()
    expect(harness.cron.broken()).toBeNull()
    expect((await jobsOf(harness)).map(({ agent: whose }) => whose)).toEqual(['clerk', operator])
    expect(harness.cron.list(owner).jobs).toHaveLength(2)
  })

  it("the operator's heartbeat fires, whatever is written in whatever order", async () => {
    const anyJob = fc.record(
      {
        id: fc.constantFrom('own', 'other'),
        agent: fc.constantFrom(operator, 'clerk'),
        schedule: fc.constantFrom('every 15m', 'every 366d', '0 0 29 2 *', 'never'),
        timezone: fc.constantFrom('UTC', 'Europe/Berlin', 'Nowhere'),
        enabled: fc.constantFrom<unknown>(true, false, 0, 'no'),
        heartbeat: fc.boolean(),
        when: fc.constantFrom('now.hour > 50', '', 'nonsense ('),
        message: fc.constantFrom('x', ''),
        created_by: fc.constantFrom('agent:gone', 'file'),
        created_at: fc.constantFrom(0, 8_640_000_000_000_000, startOfTime + 1),
      },
      { requiredKeys: ['id', 'agent', 'schedule'] },
    )
    const anyFile = fc.oneof(
      fc.array(anyJob, { maxLength: 3 }).map((jobs) => JSON.stringify({ jobs })),
      fc.constantFrom('', '{', 'null', '{"jobs":null}', '{"jobs":[]}'),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(anyFile, { maxLength: 4 }), fc.boolean(), async (texts, restarts) => {
        const harness = await aFleetThatLooksAround()
        let now: CronHarness = harness
        for (const text of texts) {
          await writeFile(now.path, text)
          if (restarts) {
            now = await now.again()
            await now.cron.heartbeatJobs.put({ agentId: operator, schedule: 'every 15m' }).catch(() => {})
          }
          await now.cron.tick()
          expect(await heartbeats(now, harness.fired)).toBeGreaterThan(0)
        }
        await now.ledger.close()
      }),
      { numRuns: 25 },
    )
  })
})
