import process from 'node:process'
import { createFileEditor } from '../../config/atomic-file.ts'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { silentLog } from '../../log.ts'
import type { RunRecord } from '../../runs/run-record.ts'
import { migrated } from '../../runs/ledger-world.ts'
import { createHandDrivenClock } from '../../runs/hand-driven-clock.ts'
import { createCron } from './cron.ts'
import type { CronWorld } from './cron-world.ts'
import { nextDue, readSchedule } from './cron-schedule.ts'
import { createCronTable } from './cron-table.ts'
import { aJob, startOfTime } from './played-cron.ts'

const soak = process.env['FLOTILLA_SOAK'] === '1'
/** A whole year of a thousand jobs with `npm run test:soak`; else some weeks of some, DST of spring among them. */
const size = soak ? { jobs: 1000, days: 365 } : { jobs: 16, days: 32 }
const day = 86_400_000
const folders: string[] = []
afterEach(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true, force: true })))

/** Chance that is the same each time. */
function seeded(seed: number): (max: number) => number {
  let state = seed
  return (max) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 4_294_967_296) * max)
  }
}

const schedules = [
  'every 6h',
  'every 11h',
  '30 2 * * *',
  '15 */8 * * *',
  '0 9 * * MON-FRI',
  '0 0 1 * *',
  '0 0 29 2 *',
  '30 1-3 * * SUN',
]
const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe']

describe('a stretch of years', () => {
  it('leaves no due time without a row and fires none twice, over restarts, pauses and leaps of the clock', async () => {
    const chance = seeded(7)
    const folder = mkdtempSync(join(tmpdir(), 'flotilla-year-'))
    folders.push(folder)
    const clock = createHandDrivenClock(startOfTime)
    const database = migrated()
    // Rows are kept for ever here, so that each can be looked for in the end.
    database.exec('CREATE TABLE runs_seen (id TEXT, key TEXT PRIMARY KEY, job TEXT, due INTEGER)')
    let count = 0
    const world: CronWorld = {
      path: join(folder, 'cron.json'),
      editor: createFileEditor(),
      database,
      clock,
      newId: (prefix) => `${prefix}_${count++}`,
      log: silentLog,
      guard: () => {},
      decide: () => ({ allowed: true }),
      journal: { append: () => {} },
      events: { publish: () => {} },
      ledger: {
        find: () => null,
        submitRun: (_caller, { idempotencyKey, agentId }) => {
          const [, job, due] = /^cron:(.+):(\d+)$/.exec(idempotencyKey ?? '') ?? []
          const id = `run_${count++}`
          // A second run of one due time breaks the table's key.
          database
            .prepare('INSERT INTO runs_seen VALUES (?, ?, ?, ?)')
            .run(id, idempotencyKey ?? '', job ?? '', Number(due))
          return { id, agentId, state: 'queued' } as unknown as RunRecord
        },
      },
      requireAgent: () => {},
      toolsOf: async () => [],
      readCondition: () => () => true,
      fireHeartbeat: async () => ({ skipped: '' }),
      pausedReason: () => null,
      note: () => {},
    }
    const jobs = Array.from({ length: size.jobs }, (_, at) =>
      aJob({
        id: `j${at}`,
        agent: `agent-${at}`,
        schedule: schedules[at % schedules.length] ?? '',
        timezone: zones[chance(zones.length)] ?? 'UTC',
        created_at: startOfTime - chance(day),
      }),
    )
    writeFileSync(world.path, JSON.stringify({ jobs }))
    let cron = await createCron(world)
    const end = startOfTime + size.days * day
    let highest = startOfTime
    let [restarts, leapsBack] = [0, 0]
    while (clock.now() < end) {
      const what = chance(40)
      if (what === 0) {
        await clock.leap(chance(4 * day))
        cron = await createCron(world)
        restarts += 1
      } else if (what === 1 && clock.now() - startOfTime > day) {
        await clock.leap(-chance(day))
        leapsBack += 1
      } else await clock.leap(chance(2 * 3_600_000))
      highest = Math.max(highest, clock.now())
      let acted = await cron.tick()
      while (acted >= 100) acted = await cron.tick()
    }
    expect(restarts).toBeGreaterThan(0)
    expect(leapsBack).toBeGreaterThan(0)

    const table = createCronTable(database)
    let [dues, late] = [0, 0]
    for (const job of jobs) {
      const reading = readSchedule(job.schedule, {
        timezone: job.timezone,
        anchor: job.created_at - (job.created_at % 5000),
      })
      if (!reading.ok) throw new Error(reading.reason)
      const rows = table.newest(job.id, 1_000_000)
      // Where the clock went back last, what lies beyond now comes again; what was kept of it fired.
      const until = clock.now()
      const fired = new Set(rows.filter(({ state }) => state === 'fired').map(({ dueAt }) => dueAt))
      const spans = rows.filter(({ state }) => state === 'skipped')
      const kept = rows.length >= 200 ? Math.min(...rows.map(({ dueAt }) => dueAt)) : startOfTime
      for (
        let due = nextDue(reading.schedule, startOfTime);
        due !== null && due <= until;
        due = nextDue(reading.schedule, due)
      ) {
        if (due < kept) continue
        const at = due
        const cover = spans.filter(({ dueAt, dueUntil }) => dueAt <= at && at <= dueUntil).length
        expect(
          cover + (fired.has(due) ? 1 : 0),
          `${job.id} ${job.schedule} ${new Date(due).toISOString()}`,
        ).toBe(1)
        dues += 1
      }
      late += rows.filter(({ lateMs }) => lateMs > 10_000).length
    }
    expect(dues).toBeGreaterThan(size.jobs)
    expect(late).toBeGreaterThan(0)
    expect(highest).toBeGreaterThanOrEqual(end)
  }, 1_800_000)
})
