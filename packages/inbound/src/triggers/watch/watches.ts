import type { Clock } from '@flotilla/protocol/clock'
import type { EventBus } from '@flotilla/foundation/events'
import type { Log } from '@flotilla/foundation/platform'
import type { FireChange } from './fire-change.ts'
import { activateWatch, scanWatch } from './scan-watch.ts'
import type { ActiveWatch, ScanReport } from './scan-watch.ts'
import type { ScanFolder } from './scan-folder.ts'
import { watchName } from './watch-rule.ts'
import { rowsAtOnce } from './watch-table.ts'
import type { WatchTable } from './watch-table.ts'
import type { WatchersFile } from './watchers-file.ts'

/** The interval between two scans of the watched files, in milliseconds. */
export const fileWatcherPollMs = 5000 // limits:file-watcher-poll

/** The maximum number of runs that a poll starts, in total and per watch. Further changes wait for the next poll. */
const firesPerPollMax = 100
export const firesPerWatchMax = 20
/** How long a poll waits for a scan, in milliseconds. A longer scan, as on a hanging mount, continues without it. */
export const scanMaxMs = 60_000

export interface PollCounts {
  readonly done: number
  /** How many polls were left out because the previous poll had not finished. */
  readonly skipped: number
  readonly longestMs: number
}

/**
 * The active watches of `config/watchers.yaml`.
 *
 * W1 The first scan of a folder fires nothing, after each start of the mesh and for each new entry.
 * W2 A noticed change is fired once: it waits in the database until its run is persisted (see `fire-change`).
 * W3 Polls never overlap, and neither do scans of one folder.
 */
export interface Watches {
  readonly active: () => readonly ActiveWatch[]
  readonly counts: () => PollCounts
  /** Reads the file; may be called between polls. The next poll scans the folders of new watches. */
  refresh(): Promise<void>
  /** Runs one poll. Never rejects. */
  poll(signal: AbortSignal): Promise<void>
  /** Polls every 5 seconds until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
}

interface WatchesDeps {
  readonly file: WatchersFile
  readonly table: WatchTable
  readonly scanFolder: ScanFolder
  readonly fire: FireChange
  readonly events: Pick<EventBus, 'publish'>
  readonly clock: Clock
  readonly log: Log
}

export function createWatches(deps: WatchesDeps): Watches {
  const { file, table, clock, log } = deps
  let active: ActiveWatch[] = []
  const counts = { done: 0, skipped: 0, longestMs: 0 }
  let firstOfPoll = 0
  const troubles = createTroubleReport(deps)

  async function takeRules(): Promise<void> {
    const isOther = await file.refresh()
    troubles.file(file.broken())
    if (!isOther) return
    const known = new Map(active.map((watch) => [watch.rule.id, watch]))
    const rules = file.rules()
    table.forgetOthers(rules.map(({ id }) => id))
    active = rules.map((rule) => {
      const watch = known.get(rule.id) ?? activateWatch(rule, table.noticedOf(rule.id))
      watch.rule = rule
      return watch
    })
    log.info({ watches: active.length }, 'read the watchers file; its watches are active')
  }

  /** Resolves with the report of a scan; with null if the scan takes too long or another scan of the watch runs. */
  async function scan(watch: ActiveWatch, dueMax: number, signal: AbortSignal): Promise<ScanReport | null> {
    if (watch.scanning) return null
    const beganAt = clock.now()
    const othersRemember = active.reduce((sum, other) => sum + (other === watch ? 0 : other.seen.size), 0)
    const scanning = scanWatch(watch, { ...deps, othersRemember, dueMax, now: beganAt, signal })
    const settled = scanning.then(
      () => undefined,
      () => undefined,
    )
    watch.scanning = settled
    void settled.then(() => {
      watch.scanning = null
      watch.scannedAt = clock.now()
      watch.scanMs = watch.scannedAt - beganAt
    })
    const bound = new AbortController()
    const late = clock.sleep(scanMaxMs, AbortSignal.any([bound.signal, signal])).then(
      () => 'late' as const,
      () => null,
    )
    const end = await Promise.race([scanning, late])
    bound.abort()
    if (end !== 'late') return end
    watch.trouble = `the folder has not answered for ${scanMaxMs / 1000} s`
    // The scan continues. When it ends, its changes are stored, and the next scan fires them.
    void scanning.then((report) => keep(watch, report)).catch(() => {})
    return null
  }

  /** Persists the changes before anything is fired. Rows that the disk refuses are written after the next scan. */
  async function keep(watch: ActiveWatch, report: ScanReport): Promise<void> {
    const { id } = watch.rule
    const noticed = [...watch.owed.noticed, ...report.noticed]
    const again = new Set(report.noticed.map(({ name }) => name))
    const settled = [...watch.owed.settled.filter((name) => !again.has(name)), ...report.settled]
    watch.owed = { noticed, settled }
    for (let at = 0; at < noticed.length; at += rowsAtOnce) {
      const rows = noticed.slice(at, at + rowsAtOnce)
      if (table.notice(id, rows) < rows.length) {
        log.warn(
          { watch: watchName(watch.rule) },
          'more file changes wait than the database stores; the excess is lost if the mesh stops',
        )
        break
      }
      await breath()
    }
    for (let at = 0; at < settled.length; at += rowsAtOnce) {
      table.settle(id, settled.slice(at, at + rowsAtOnce))
      await breath()
    }
    watch.owed = { noticed: [], settled: [] }
  }

  async function pollWatch(watch: ActiveWatch, room: FireRoom, signal: AbortSignal): Promise<void> {
    const report = await scan(watch, Math.min(firesPerWatchMax, room.left), signal)
    if (report) {
      await keep(watch, report)
      fireDue(watch, report, room)
      watch.waiting = watch.seen.waiting
    }
    troubles.watch(watch)
  }

  function fireDue(watch: ActiveWatch, { due }: ScanReport, room: FireRoom): void {
    if (due.length === 0) {
      if (watch.seen.waiting === 0) watch.held = null
      return
    }
    for (const change of due) {
      const refusal = room.heldAgents.get(watch.rule.agent)
      const end =
        refusal === undefined ? deps.fire(watch.rule, change) : ({ kind: 'held', reason: refusal } as const)
      if (end.kind === 'held') {
        room.heldAgents.set(watch.rule.agent, end.reason)
        watch.held = end.reason
        return
      }
      watch.held = null
      watch.seen.quiet(change.name)
      watch.fired++
      room.left--
    }
  }

  async function poll(signal: AbortSignal): Promise<void> {
    const beganAt = clock.now()
    try {
      await takeRules()
      const room: FireRoom = { left: firesPerPollMax, heldAgents: new Map() }
      // Each poll starts with the next watch in turn, so that a busy watch cannot always use up the limit.
      firstOfPoll = active.length === 0 ? 0 : (firstOfPoll + 1) % active.length
      for (const watch of [...active.slice(firstOfPoll), ...active.slice(0, firstOfPoll)]) {
        if (signal.aborted) return
        await pollWatch(watch, room, signal).catch((error: unknown) => {
          if (!signal.aborted)
            log.error(
              { watch: watchName(watch.rule), err: error },
              'failed to poll a file watcher; retrying at the next poll',
            )
        })
      }
    } catch (error) {
      if (!signal.aborted)
        log.error({ err: error }, 'failed to poll the file watchers; retrying at the next poll')
    }
    counts.done++
    counts.longestMs = Math.max(counts.longestMs, clock.now() - beganAt)
  }

  return {
    active: () => active,
    counts: () => counts,
    refresh: takeRules,
    poll,
    run: async (signal) => {
      let nextAt = clock.now()
      while (!signal.aborted) {
        await poll(signal)
        nextAt += fileWatcherPollMs
        const lateMs = clock.now() - nextAt
        const skipped = lateMs > 0 ? Math.ceil(lateMs / fileWatcherPollMs) : 0
        counts.skipped += skipped
        nextAt += skipped * fileWatcherPollMs
        await clock.sleep(Math.max(0, nextAt - clock.now()), signal).catch(() => {})
      }
    },
  }
}

interface FireRoom {
  left: number
  /** By agent, the reason why a run was rejected in this poll. The poll submits no more runs of these agents. */
  readonly heldAgents: Map<string, string>
}

/** Reports each problem of the file or of a watch once, and once that a watch has recovered. */
function createTroubleReport({ events, log }: Pick<WatchesDeps, 'events' | 'log'>) {
  let reportedFile: string | null = null
  const reported = new WeakMap<ActiveWatch, string>()
  return {
    file: (broken: string | null) => {
      if (broken === reportedFile) return
      reportedFile = broken
      if (broken === null) return
      log.error(
        { detail: broken },
        'config/watchers.yaml is invalid; using the watchers of the last valid file',
      )
      events.publish({ type: 'watchers.broken', detail: broken })
    },
    watch: (watch: ActiveWatch) => {
      const detail = [watch.trouble, watch.held === null ? null : `changes wait: ${watch.held}`]
        .filter((text) => text !== null)
        .join('; ')
      if (detail === (reported.get(watch) ?? '')) return
      reported.set(watch, detail)
      const name = watchName(watch.rule)
      if (detail === '') events.publish({ type: 'watch.recovered', watch: name })
      else {
        log.warn({ watch: name, detail }, 'a file watcher failed; its changes wait until it recovers')
        events.publish({ type: 'watch.troubled', watch: name, detail })
      }
    },
  }
}

function breath(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
