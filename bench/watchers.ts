import { lstatSync, readdirSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { silentLog } from '../packages/foundation/src/platform/log.ts'
import { systemClock } from '../packages/foundation/src/platform/system-clock.ts'
import { activateWatch, scanWatch } from '../packages/inbound/src/triggers/watch/scan-watch.ts'
import { readWatchers } from '../packages/inbound/src/triggers/watch/read-watchers.ts'
import { createScanThread } from '../packages/inbound/src/triggers/watch/scan-thread.ts'
import type { Bench, BenchOptions } from './bench.ts'
import { rotated } from './bench.ts'
import { median, pairedRatio } from './statistics.ts'
import { figure, ratio } from './table.ts'

const files = 100_000
/** The interval in which the delay of the event loop is measured, in milliseconds. */
const tickMs = 2
const names = {
  floor: 'a bare loop of readdir and lstat',
  ours: 'a look of a watch at the same files',
} as const
type Name = (typeof names)[keyof typeof names]

interface Measured {
  readonly ms: number
  readonly cpuMs: number
  readonly stallMs: number
}

export const watchersBench: Bench = {
  name: 'watchers',
  claim: `what it costs to look at a folder of ${files} files, in which nothing has changed`,
  defaultRuns: 9,
  run: async ({ runs, folder, progress, signal }: BenchOptions) => {
    const inbox = join(folder, 'inbox')
    await mkdir(inbox)
    progress(`${files} files`)
    for (let at = 0; at < files; at += 500) {
      await Promise.all(
        Array.from({ length: 500 }, (_, more) => writeFile(join(inbox, `report-${at + more}.csv`), 'x')),
      )
    }
    const thread = createScanThread({ clock: systemClock, log: silentLog })
    const reading = readWatchers(
      `watchers:\n  - {path: ${inbox}, pattern: "*.csv", agent: scout, message: "see {filename}"}\n`,
    )
    const [rule] = reading.ok ? reading.rules : []
    if (!rule) throw new Error('the rule of the bench is not one')
    const watch = activateWatch(rule, [])
    const looks: Record<Name, () => Promise<void> | void> = {
      [names.floor]: () => {
        for (const name of readdirSync(inbox)) lstatSync(join(inbox, name))
      },
      [names.ours]: async () => {
        await scanWatch(watch, {
          scanFolder: thread.scanFolder,
          othersRemember: 0,
          dueMax: 20,
          now: 0,
          signal,
        })
        if (watch.seen.size !== files) throw new Error(`${watch.seen.size} files seen: ${watch.trouble}`)
      },
    }
    const all: Record<Name, Measured[]> = { [names.floor]: [], [names.ours]: [] }
    try {
      for (const look of Object.values(looks)) await look()
      for (let round = 0; round < runs && !signal.aborted; round += 1) {
        progress(`round ${round + 1} of ${runs}`)
        for (const name of rotated(Object.values(names), round)) all[name].push(await measured(looks[name]))
      }
    } finally {
      await thread.close()
    }
    const floor = all[names.floor].map(({ ms }) => ms)
    return {
      tables: [
        {
          title: `File watchers: one look at ${files} files`,
          columns: ['', 'ms', 'CPU, ms', 'longest stall of the event loop, ms', 'of the bare loop'],
          rows: Object.entries(all).map(([name, each]) => [
            name,
            figure(median(each.map(({ ms }) => ms)), 0),
            figure(median(each.map(({ cpuMs }) => cpuMs)), 0),
            figure(median(each.map(({ stallMs }) => stallMs)), 1),
            ratio(
              pairedRatio(
                each.map(({ ms }) => ms),
                floor,
              ),
            ),
          ]),
          notes: [
            'Medians. CPU is that of the whole process, its threads and the kernel’s work for it included. A look comes every 5 seconds.',
          ],
        },
      ],
      figures: { ...all },
    }
  },
}

async function measured(look: () => Promise<void> | void): Promise<Measured> {
  let tickedAt = performance.now()
  let stallMs = 0
  const tick = () => {
    stallMs = Math.max(stallMs, performance.now() - tickedAt - tickMs)
    tickedAt = performance.now()
  }
  const ticking = setInterval(tick, tickMs)
  const cpu = process.cpuUsage()
  const beganAt = performance.now()
  await look()
  const ms = performance.now() - beganAt
  const { user, system } = process.cpuUsage(cpu)
  tick()
  clearInterval(ticking)
  return { ms, cpuMs: (user + system) / 1000, stallMs }
}
