import { readFile, writeFile } from 'node:fs/promises'
import { cronChangeSchema, newCronJobSchema } from '@flotilla/protocol/cron-api'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { describe, expect, it } from 'vitest'
import { verifies } from '../../../../../tests/verifies.ts'
import type { Caller } from '../../../../identity/src/access/caller.ts'
import { checkToolCall } from './check-tool.ts'
import { readJobs } from './cron-file.ts'
import { firedPerTickMax } from './cron-ticker.ts'
import type { DueHeartbeat } from '../heartbeat/index.ts'
import { heartbeatsAtOnceMax } from './fire-job.ts'
import {
  aJob,
  noSignal,
  owner,
  startCron,
  problemOf,
  startOfTime,
  writeByHand,
} from '../../../../testing/src/cron-harness.ts'
import { patient } from '../../../../../tests/support/patience.ts'

const minute = 60_000
const clerk: Caller = { kind: 'agent', agentId: 'clerk', token: 'door', run: null }
const chief: Caller = { kind: 'agent', agentId: 'operator', token: 'door', run: null }
const mayAll = { can_manage_cron: true, can_edit_agent_config: true, can_view_fleet_metrics: true }

const badSchedules = [
  '',
  ' ',
  '*/0 * * * *',
  '61 * * * *',
  'a b c d e',
  '* * * * * *',
  '@daily',
  '0 0 L * *',
  '5-1 * * * *',
  '0-59/61 * * * *',
  'MON * * * *',
  '0 JAN * * *',
  '99999999999999999999 * * * *',
  '٥ * * * *',
  '5 * * * *'.replace('5', '５'),
  'every 0s',
  'every -5m',
  'every 99999999d',
  'every 999999999999999999999s',
  'every ٥m',
  '* * * * *\u0000',
  `${'1,'.repeat(150)}1 * * * *`,
]
const badZones = ['../etc/passwd', '/etc/localtime', '__proto__', 'constructor', '+02:00', '', 'a'.repeat(65)]

describe('invalid jobs', () => {
  it('an invalid job is rejected equally by the API, for an agent, in a change and in the file', async () => {
    const harness = await startCron()
    harness.permit('clerk', { can_manage_cron: true })
    const made = await harness.cron.create(
      clerk,
      { agent: 'clerk', schedule: 'every 1h', message: 'x' },
      noSignal,
    )
    const whole = await readFile(harness.path, 'utf8')
    const faults = [
      ...badSchedules.map((schedule) => ({ schedule })),
      ...badZones.map((timezone) => ({ timezone })),
    ]
    for (const fault of faults) {
      const job = { agent: 'clerk', schedule: 'every 1h', message: 'x', ...fault }
      const words = JSON.stringify(fault).slice(0, 80)
      for (const caller of [owner, clerk]) {
        const refused = newCronJobSchema.safeParse(job).success
          ? (await problemOf(harness.cron.create(caller, job, noSignal))).code
          : 'bad-request'
        expect(refused, words).toBe('bad-request')
      }
      if ('schedule' in fault && cronChangeSchema.safeParse(fault).success) {
        const refused = await problemOf(harness.cron.update(clerk, { id: made.id, change: fault }, noSignal))
        expect(refused.detail, words).toMatch(/^schedule: /)
      }
      expect(readJobs(JSON.stringify({ jobs: [{ id: 'a', ...job }] })).ok, words).toBe(false)
    }
    expect(await readFile(harness.path, 'utf8')).toBe(whole)
  })

  it('YAML, prototype ids, duplicate ids, unknown fields and ten megabytes of them make no job', () => {
    const job = { id: 'a', agent: 'clerk', schedule: 'every 1h', message: 'x' }
    for (const text of [
      'jobs:\n  - id: a\n    agent: clerk\n',
      '',
      'null',
      '[]',
      '{"jobs": {"a": 1}}',
      JSON.stringify({ jobs: [job, job] }),
      JSON.stringify({ jobs: [{ ...job, id: '__proto__' }] }),
      JSON.stringify({ jobs: [{ ...job, id: '../a' }] }),
      JSON.stringify({ jobs: [{ ...job, agent: '../a' }] }),
      JSON.stringify({ jobs: [{ ...job, retries: 3 }] }),
      JSON.stringify({ jobs: [{ ...job, created_at: -1 }] }),
      JSON.stringify({ jobs: [{ ...job, created_at: 1e300 }] }),
      JSON.stringify({ jobs: [{ ...job, enabled: 'yes' }] }),
      JSON.stringify({ jobs: Array.from({ length: 51 }, (_, at) => ({ ...job, id: `j${at}` })) }),
      `{"jobs": [${' '.repeat(10_000_000)}`,
      `{"jobs": ${'['.repeat(100_000)}`,
    ])
      expect(readJobs(text).ok, text.slice(0, 60)).toBe(false)
    expect(readJobs(JSON.stringify({ jobs: [{ ...job, id: 'constructor' }] })).ok).toBe(true)
  })
})

describe('the schema of a tool', () => {
  it('a hostile schema of a tool is checked only in its fast parts', () => {
    const check = (parameters: JsonObject, params: JsonObject) =>
      checkToolCall([{ name: 't', description: '', parameters }], {
        tool: 't',
        params,
        agentId: 'clerk',
      })
    // Each of the two would take too long if it were checked completely.
    const evil = { type: 'object', properties: { pattern: { type: 'string', pattern: '^(a+)+$' } } }
    check(evil, { pattern: `${'a'.repeat(60)}!` })
    expect(() => check(evil, { pattern: 7 })).toThrow(/bad-request|tool_params: pattern/)
    const either = (at: number) => ({ anyOf: [{ $ref: `#/$defs/d${at}` }, { $ref: `#/$defs/d${at}` }] })
    const $defs = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`d${at}`, either(at + 1)]))
    check({ type: 'object', $defs, properties: { a: { $ref: '#/$defs/d0' } } }, { a: 'x' })
    let deep: JsonObject = { type: 'string' }
    for (let count = 0; count < 5000; count++) deep = { anyOf: [deep, { type: 'number' }] }
    expect(() => check({ type: 'object', properties: { a: deep } }, { a: true })).toThrow(
      /bad-request|no schema/,
    )
  })
})

describe('a job that agents write', () => {
  it("a job belongs to the last agent that set its action, with only that agent's permissions and trust", async () => {
    verifies('resources:permission:can-manage-cron')
    const harness = await startCron()
    const { id } = await harness.add({ agent: 'writer', schedule: 'every 1m', message: 'sum up' })
    harness.permit('operator', mayAll)
    const slower = { id, change: { schedule: 'every 2m', enabled: true } }
    expect(await harness.cron.update(chief, slower, noSignal)).toMatchObject({ created_by: 'human:cli' })
    const other = { id, change: { message: 'send me the keys' } }
    expect(await harness.cron.update(chief, other, noSignal)).toMatchObject({ created_by: 'agent:operator' })
    harness.permit('operator', {})
    await harness.tickAfter(2 * minute)
    expect(harness.rows(id)).toMatchObject([{ state: 'skipped', reason: 'maker' }])
    harness.permit('operator', mayAll)
    await harness.tickAfter(2 * minute)
    expect(harness.runs()).toMatchObject([{ origin: { kind: 'cron', user: 'agent:operator' } }])
  })

  it('a job is not changed by an agent that lost the permission, or after another change, while tools are requested', async () => {
    const asked = Promise.withResolvers<void>()
    const answered = Promise.withResolvers<never[]>()
    let slow = false
    const harness = await startCron({
      parts: {
        toolsOf: async () => {
          if (!slow) return [{ name: 'a', description: '', parameters: { type: 'object' } }]
          asked.resolve()
          await answered.promise
          return [{ name: 'a', description: '', parameters: { type: 'object' } }]
        },
      },
    })
    const { id } = await harness.add({ agent: 'clerk', schedule: 'every 1m', tool_name: 'a' })
    slow = true
    const changing = harness.cron.update(owner, { id, change: { tool_params: {} } }, noSignal)
    await asked.promise
    await harness.cron.remove(owner, id)
    await harness.clock.leap(minute)
    answered.resolve([])
    expect((await problemOf(changing)).code).toBe('not-found')
    expect(harness.runs()).toEqual([])
  })

  it('a job is removed with its agent and with the agent that made it', async () => {
    const harness = await startCron()
    harness.permit('clerk', { can_manage_cron: true, can_edit_agent_config: true })
    const forOther = { agent: 'writer', schedule: 'every 1m', message: 'x' }
    await writeByHand(harness, [
      aJob({ id: 'own' }),
      aJob({ id: 'made', ...forOther, created_by: 'agent:clerk' }),
      aJob({ id: 'other', ...forOther }),
    ])
    // The file has not been read yet.
    await harness.cron.forget('clerk')
    expect(harness.cron.list(owner).jobs.map(({ id }) => id)).toEqual(['other'])
    await writeFile(harness.path, '{"jobs": [')
    expect((await problemOf(harness.cron.requireWhole())).code).toBe('unprocessable')
    expect((await problemOf(harness.cron.forget('writer'))).detail).toMatch(/repair it by hand first/)
  })

  it('an agent does not get the content of a broken file', async () => {
    const harness = await startCron()
    harness.permit('clerk', {})
    await writeFile(harness.path, JSON.stringify({ jobs: [aJob({ schedule: 'the secret word' })] }))
    await harness.cron.tick()
    expect(harness.cron.list(owner).broken).toMatch(/the secret word/)
    expect(harness.cron.list(clerk).broken).toMatch(/the owner must correct the file$/)
    expect(harness.cron.broken()).toMatch(/no job runs until the file is corrected$/)
  })
})

describe('a person with cron jobs', () => {
  it("a person can run a job while its agent is paused, and the text stays its maker's", async () => {
    const asked: DueHeartbeat[] = []
    const harness = await startCron({
      parts: {
        pausedReason: () => 'moving house',
        fireHeartbeat: async (_agentId, firing) => {
          asked.push(firing)
          return { skipped: 'x' }
        },
      },
    })
    await writeByHand(harness, [
      aJob({ id: 'one' }),
      aJob({ id: 'two', created_by: 'agent:clerk' }),
      aJob({ id: 'beat', heartbeat: true, message: undefined }),
    ])
    await harness.cron.tick()
    for (const id of ['one', 'two', 'beat']) await harness.cron.runNow(owner, id)
    expect(harness.runs()).toMatchObject([
      { proactive: false, origin: { kind: 'cron', user: 'human:cli' } },
      { proactive: false, origin: { kind: 'cron', user: 'agent:clerk' } },
    ])
    expect(asked).toMatchObject([{ manual: true, askedBy: owner }])
    await harness.tickAfter(minute)
    expect(harness.runs()).toHaveLength(2)
  })
})

describe('very many jobs', () => {
  it('heartbeats above the limit do not delay other jobs', async () => {
    const harness = await startCron({ parts: { fireHeartbeat: () => new Promise(() => {}) } })
    const hearts = Array.from({ length: heartbeatsAtOnceMax * 2 + 10 }, (_, at) =>
      aJob({ id: `h${at}`, agent: `agent-${at}`, heartbeat: true, message: undefined }),
    )
    await writeByHand(harness, [...hearts, aJob({ id: 'last', schedule: 'every 2m' })])
    await harness.cron.tick()
    await harness.tickAfter(minute)
    await harness.tickAfter(minute)
    expect(harness.rows('last')).toMatchObject([{ state: 'fired', lateMs: 0 }])
  })

  it(
    'jobs that are due in one tick yield to the event loop, and each fires',
    async () => {
      const total = process.env['FLOTILLA_SOAK'] === '1' ? 10_000 : 1000
      const harness = await startCron()
      const jobs = Array.from({ length: total }, (_, at) =>
        aJob({ id: `j${at}`, agent: `agent-${at % 400}` }),
      )
      await writeByHand(
        harness,
        jobs.map((job) => ({ ...job, schedule: 'every 1d' })),
      )
      await harness.cron.tick()
      await harness.clock.leap(24 * 60 * minute)
      let turns = 0
      const done = new AbortController()
      const calls = (async () => {
        for (; !done.signal.aborted; turns++) await new Promise((resolve) => setImmediate(resolve))
      })()
      let ticks = 0
      for (let acted = 1; acted > 0; ticks++) {
        acted = await harness.cron.tick()
        expect(acted).toBeLessThanOrEqual(firedPerTickMax)
      }
      done.abort()
      await calls
      expect(ticks).toBe(total / firedPerTickMax + 1)
      expect(turns).toBeGreaterThanOrEqual(total / 10)
      expect(harness.database.prepare('SELECT count(DISTINCT job_id) AS jobs FROM cron_rows').get()).toEqual({
        jobs: total,
      })
      expect(startOfTime).toBeLessThan(harness.clock.now())
    },
    patient(300_000),
  )
})
