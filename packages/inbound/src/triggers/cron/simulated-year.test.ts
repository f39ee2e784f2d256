import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { afterEach, describe, expect, it } from 'vitest'
import { createFileEditor } from '../../../../foundation/src/config/atomic-file.ts'
import { silentLog } from '../../../../foundation/src/platform/log.ts'
import type { RunRecord } from '../../../../work/src/runs/ledger/run-record.ts'
import { migrated } from '../../../../testing/src/ledger-harness.ts'
import { createManualClock } from '../../../../protocol/src/testing/manual-clock.ts'
import type { Database } from '../../../../foundation/src/storage/database.ts'
import { createCron } from './cron.ts'
import type { Cron } from './cron.ts'
import { createCronJobs } from './cron-jobs.ts'
import type { CronJob } from './cron-job.ts'
import { oracleDueTimes } from '../../../../testing/src/cron-oracle.ts'
import type { CronDeps } from './cron-deps.ts'
import { aJob, startOfTime } from '../../../../testing/src/cron-harness.ts'
import { patient } from '../../../../../tests/support/patience.ts'
import { createIdentityEvents } from '../../../../identity/src/events/index.ts'

const soak = process.env['FLOTILLA_SOAK'] === '1'
/**
 * A whole year of a thousand jobs with `npm run test:soak`; otherwise some weeks of some jobs, including a spring
 * clock change.
 */
const size = soak
  ? { jobs: 1000, days: 365, ticksPerMishap: 1500 }
  : { jobs: 40, days: 40, ticksPerMishap: 60 }
const hour = 3_600_000
const day = 24 * hour
const tickMs = 5000
const leapMaxMs = 4 * day
const folders: string[] = []
afterEach(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true, force: true })))

/** Deterministic random numbers. */
function seeded(seed: number): (max: number) => number {
  let state = seed
  return (max) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 4_294_967_296) * max)
  }
}

const intervals = [
  { schedule: 'every 6h', everyMs: 6 * hour },
  { schedule: 'every 11h', everyMs: 11 * hour },
  { schedule: 'every 3d', everyMs: 3 * day },
]
const expressions = [
  '30 2 * * *',
  '15 */8 * * *',
  '*/20 2 * * *',
  '0 0 1 * *',
  '0 0 29 2 *',
  '30 1-3 * * SUN',
  '0 0 13 * FRI',
  '59 23 31 * *',
  '5 0,12 * JAN-JUN/2 *',
]
/** A schedule that all zones share. */
const early = '0 9 * * MON-FRI'
const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu']

/** Due times by arithmetic and by cron-parser, each list computed once. */
function createDueTimesOf(until: number): (job: CronJob) => readonly number[] {
  const lists = new Map<string, number[]>()
  return ({ schedule, timezone, created_at: createdAt }) => {
    const everyMs = intervals.find((interval) => interval.schedule === schedule)?.everyMs
    if (everyMs !== undefined) {
      const anchor = createdAt - (createdAt % tickMs)
      const first = anchor + (Math.floor((startOfTime - anchor) / everyMs) + 1) * everyMs
      return Array.from(
        { length: Math.floor((until - first) / everyMs) + 1 },
        (_, at) => first + at * everyMs,
      )
    }
    const key = `${timezone} ${schedule}`
    const known = lists.get(key) ?? oracleDueTimes(schedule, { timezone, after: startOfTime, until })
    lists.set(key, known)
    return known
  }
}

/** The mesh around the jobs: runs last a while, and nothing else happens. */
function aHarness(database: Database, folder: string) {
  const clock = createManualClock(startOfTime)
  // Every submitted run. A second one of the same due time violates the key.
  const endOfRun = new Map<string, number>()
  database.exec('CREATE TABLE runs_seen (job TEXT, due INTEGER, PRIMARY KEY (job, due)) STRICT')
  // Trimmed rows are kept here. Rows that a clock change deletes are in the future and are not.
  database.exec(`
    CREATE TABLE clock (now INTEGER NOT NULL) STRICT;
    INSERT INTO clock VALUES (0);
    CREATE TABLE trimmed AS SELECT * FROM cron_rows;
    CREATE TRIGGER keep_trimmed AFTER DELETE ON cron_rows
    WHEN NOT (OLD.state = 'skipped' AND OLD.due_at > (SELECT now FROM clock))
    BEGIN INSERT INTO trimmed SELECT OLD.seq, OLD.job_id, OLD.due_at, OLD.due_until, OLD.count, OLD.count_exact,
      OLD.state, OLD.reason, OLD.detail, OLD.manual, OLD.decided_at, OLD.late_ms, OLD.run_id, OLD.outcome, OLD.text,
      OLD.quiet; END;`)
  let count = 0
  const path = join(folder, 'cron.json')
  const editor = createFileEditor()
  const kernel: CronDeps['kernel'] = {
    identityEvents: createIdentityEvents(),
    database,
    clock,
    newId: (prefix) => `${prefix}_${count++}`,
    log: silentLog,
    guard: () => {},
    decide: () => ({ allowed: true }),
    journal: { append: () => {} },
    events: { publish: () => {} },
  }
  const deps: CronDeps = {
    kernel,
    runs: {
      isLaneFull: () => false,
      find: (id) => {
        const done = clock.now() >= (endOfRun.get(id) ?? 0)
        const outcome = done ? { status: 'done', text: '' } : null
        // the only fields that are read
        return { id, kind: 'tool', state: done ? 'done' : 'running', outcome } as unknown as RunRecord
      },
      submitRun: (_caller, { idempotencyKey, agentId }) => {
        const [, job, due] = /^cron:(.+):(\d+)$/.exec(idempotencyKey ?? '') ?? []
        database.prepare('INSERT INTO runs_seen VALUES (?, ?)').run(job ?? '', Number(due))
        const id = `run_${count++}`
        endOfRun.set(id, clock.now() + (count % 50 === 0 ? 20 * hour : 10 * 60_000))
        return { id, agentId, state: 'queued' } as unknown as RunRecord // the only fields that are read
      },
    },
    agents: { requireWorking: () => {}, toolsOf: async () => [] },
    fireHeartbeat: async () => ({ skipped: '' }),
    pausedReason: () => null,
    note: () => {},
  }
  const start = async (): Promise<Cron> =>
    createCron(deps, await createCronJobs({ ...kernel, path, editor, readCondition: () => () => true }))
  return { path, clock, start }
}

describe('a simulated year', () => {
  it(
    'every due time has a row and none fires twice, over restarts, pauses and clock jumps',
    async ({ annotate }) => {
      const chance = seeded(7)
      const folder = mkdtempSync(join(tmpdir(), 'flotilla-year-'))
      folders.push(folder)
      const database = migrated()
      const { path, clock, start } = aHarness(database, folder)
      const jobs = Array.from({ length: size.jobs }, (_, at) => {
        const kind = chance(4)
        const [interval, expression] = [intervals[chance(3)], expressions[chance(expressions.length)]]
        return aJob({
          id: `j${at}`,
          agent: `agent-${at}`,
          schedule: (kind === 0 ? interval?.schedule : kind === 1 ? early : expression) ?? early,
          timezone: zones[chance(zones.length)] ?? 'UTC',
          created_at: startOfTime - chance(day),
        })
      })
      writeFileSync(path, JSON.stringify({ jobs }))
      const end = startOfTime + size.days * day
      const dueTimesOf = createDueTimesOf(end + 2 * leapMaxMs)
      // The mesh ticks every five seconds; most ticks without due times are skipped.
      const moments = new Set(
        jobs.flatMap((job) => dueTimesOf(job).map((due) => Math.ceil(due / tickMs) * tickMs)),
      )
      const ticks = [...moments].sort((left, right) => left - right)
      const setClock = database.prepare('UPDATE clock SET now = ?')

      let cron = await start()
      const did = { ticks: 0, idle: 0, restarts: 0, leapsAhead: 0, leapsBack: 0 }
      while (clock.now() < end) {
        const what = chance(size.ticksPerMishap * 4)
        const now = clock.now()
        let to = ticks[firstAfter(ticks, now)] ?? end
        if (what === 0) {
          to = now + chance(leapMaxMs)
          did.leapsAhead += 1
        } else if (what === 1 && now - startOfTime > day) {
          to = now - chance(day)
          did.leapsBack += 1
        } else if (what < 4) {
          to = now + chance(2 * hour)
          cron = await start()
          did.restarts += 1
        } else if (chance(20) === 0) {
          to = now + Math.floor((to - now) / 2)
          did.idle += 1
        }
        setClock.run(to)
        await clock.leap(to - now)
        for (let acted = 100; acted >= 100; did.ticks += 1) acted = await cron.tick()
      }
      for (const times of [did.restarts, did.leapsAhead, did.leapsBack, did.idle])
        expect(times).toBeGreaterThan(0)

      const found = { dueTimes: 0, rows: 0, fired: 0, skipped: 0, late: 0 }
      for (const job of jobs) {
        const due = dueTimesOf(job).filter((at) => at <= clock.now())
        const rows = allRows(database, job.id)
        const differences = differencesOf(due, rows)
        expect(differences, `${job.id} ${job.schedule} ${job.timezone}`).toEqual([])
        const fired = rows.filter(({ state }) => state === 'fired')
        expect(runsOf(database, job.id)).toEqual(fired.map(({ dueAt }) => dueAt))
        found.dueTimes += due.length
        found.rows += rows.length
        found.fired += fired.length
        found.skipped += rows.reduce((sum, row) => sum + (row.state === 'skipped' ? row.count : 0), 0)
        found.late += fired.filter(({ lateMs }) => lateMs > 2 * tickMs).length
      }
      expect(found.fired + found.skipped).toBeGreaterThanOrEqual(found.dueTimes)
      expect(found.late).toBeGreaterThan(0)
      await annotate(JSON.stringify({ ...size, ...did, ...found, differences: 0 }))
    },
    patient(1_200_000),
  )
})

/** The index of the first value after a time in a sorted list. */
function firstAfter(list: readonly number[], moment: number): number {
  let [low, high] = [0, list.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((list[middle] ?? Infinity) > moment) high = middle
    else low = middle + 1
  }
  return low
}

interface SeenRow {
  readonly state: string
  readonly dueAt: number
  readonly dueUntil: number
  readonly count: number
  readonly exact: boolean
  readonly lateMs: number
}

/** Sorted by due time, including trimmed rows. */
function allRows(database: Database, jobId: string): readonly SeenRow[] {
  return database
    .prepare(
      'SELECT * FROM (SELECT * FROM cron_rows UNION ALL SELECT * FROM trimmed) WHERE job_id = ? ORDER BY due_at, seq',
    )
    .all(jobId)
    .map((row) => ({
      state: String(row['state']),
      dueAt: Number(row['due_at']),
      dueUntil: Number(row['due_until']),
      count: Number(row['count']),
      exact: row['count_exact'] === 1,
      lateMs: Number(row['late_ms']),
    }))
}

function runsOf(database: Database, jobId: string): number[] {
  return database
    .prepare('SELECT due FROM runs_seen WHERE job = ? ORDER BY due')
    .all(jobId)
    .map((row) => Number(row['due']))
}

/** The errors in the rows of a job compared to its due times; both are sorted. */
function differencesOf(due: readonly number[], rows: readonly SeenRow[]): string[] {
  const wrong: string[] = []
  const say = (at: number, words: string) => wrong.push(`${new Date(at).toISOString()} ${words}`)
  let next = 0
  let before = -Infinity
  for (const row of rows) {
    if (row.dueAt <= before) say(row.dueAt, 'is in two rows')
    before = row.dueUntil
    for (; (due[next] ?? Infinity) < row.dueAt; next++) say(due[next] ?? 0, 'has no row')
    const from = next
    while ((due[next] ?? Infinity) <= row.dueUntil) next++
    // Some firings before the clock was set back may be after the end.
    const beyond = row.dueAt > (due.at(-1) ?? 0) && row.state === 'fired'
    if (beyond) continue
    if (due[from] !== row.dueAt || due[next - 1] !== row.dueUntil) say(row.dueAt, 'was never due')
    if (row.exact && row.count !== next - from) say(row.dueAt, `covers ${row.count}, not ${next - from}`)
  }
  for (const at of due.slice(next)) say(at, 'has no row')
  return wrong
}
