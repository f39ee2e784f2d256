import { Cron } from 'croner'
import { migrate } from '../packages/foundation/src/storage/migrate.ts'
import { allMigrations } from '../packages/foundation/src/storage/migrations/all-migrations.ts'
import { openDatabase } from '../packages/foundation/src/storage/database.ts'
import { silentLog } from '../packages/foundation/src/platform/log.ts'
import { systemClock } from '../packages/foundation/src/platform/system-clock.ts'
import type { CronJob } from '../packages/inbound/src/triggers/cron/cron-job.ts'
import { createCronTable } from '../packages/inbound/src/triggers/cron/cron-table.ts'
import { dueNow } from '../packages/inbound/src/triggers/cron/cron-ticker.ts'
import { createJobSchedule } from '../packages/inbound/src/triggers/cron/job-schedule.ts'
import type { Bench } from './bench.ts'
import { rotated } from './bench.ts'
import { median, pairedRatio } from './statistics.ts'
import { figure, ratio } from './table.ts'

const jobsCount = 10_000
const ticks = 200
/** One round in which Croner computes for each job whether it is due, as a scan without cached due times would. */
const scannedTicks = 1

const floor = 'a walk over 10,000 numbers'
const ours = 'our tick, nothing due'
const rival = 'croner asked for each job'

function jobAt(at: number): CronJob {
  return {
    id: `job-${at}`,
    agent: `agent-${at}`,
    schedule: `${at % 60} ${at % 24} * * *`,
    timezone: 'UTC',
    enabled: true,
    suppress_empty: true,
    heartbeat: false,
    message: 'look',
    created_by: 'human:cli',
    created_at: 0,
  }
}

export const cronBench: Bench = {
  name: 'cron',
  claim: `what a tick costs with ${jobsCount.toLocaleString('en')} jobs`,
  defaultRuns: 5,
  run: async ({ runs, progress, signal }) => {
    const jobs = Array.from({ length: jobsCount }, (_, at) => jobAt(at))
    const database = openDatabase(':memory:')
    migrate(database, allMigrations)
    const deps = { database, clock: systemClock, log: silentLog, readCondition: () => () => true }
    const schedule = createJobSchedule(deps, createCronTable(database))
    schedule.adopt(jobs)
    const numbers = Float64Array.from(schedule.all(), ({ nextDue }) => nextDue)
    const patterns = jobs
      .slice(0, 1440)
      .map(({ schedule }) => new Cron(schedule, { mode: '5-part', timezone: 'UTC', paused: true }))
    let seen = 0
    const contenders = [
      {
        name: floor,
        measure: () => timed(ticks, () => (seen += countDue(numbers))),
      },
      {
        name: ours,
        measure: () =>
          timed(ticks, () => {
            seen += dueNow(schedule.all(), { now: 0, heartbeatsMax: 1, isPaused: () => false }).length
          }),
      },
      {
        name: rival,
        measure: () =>
          timed(scannedTicks, () => {
            const now = new Date(systemClock.now())
            for (let at = 0; at < jobsCount; at++) {
              if (patterns[at % patterns.length]?.nextRun(now) === null) seen += 1
            }
          }),
      },
    ]
    const times = new Map<string, number[]>(contenders.map(({ name }) => [name, []]))
    for (let round = 0; round < runs && !signal.aborted; round += 1) {
      progress(`round ${round + 1} of ${runs}`)
      for (const { name, measure } of rotated(contenders, round)) times.get(name)?.push(measure())
    }
    database.close()
    const base = times.get(floor) ?? []
    const rows = [...times].map(([name, ms]) => [name, figure(median(ms), 3), ratio(pairedRatio(ms, base))])
    return {
      tables: [
        {
          title: `A tick over ${jobsCount} jobs, milliseconds`,
          columns: ['', 'ms', 'to the floor'],
          rows,
          notes: [
            'Nothing is due: what every tick costs. The 1,440 patterns of croner are shared by the jobs; one for each would take 79 KB each.',
          ],
        },
      ],
      figures: { ms: Object.fromEntries(times), seen },
    }
  },
}

function countDue(numbers: Float64Array): number {
  let count = 0
  for (const due of numbers) if (due <= 0) count += 1
  return count
}

function timed(times: number, work: () => void): number {
  const start = performance.now()
  for (let count = 0; count < times; count++) work()
  return (performance.now() - start) / times
}
