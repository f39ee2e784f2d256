import type { Caller, Guard } from '@flotilla/identity/access'
import type { RunRecord } from '@flotilla/work/runs'
import { activateWatch, scanWatch } from './scan-watch.ts'
import type { ActiveWatch } from './scan-watch.ts'
import { nameAsText } from './scan-folder.ts'
import type { ScanFolder } from './scan-folder.ts'
import type { WatchRule } from './watch-rule.ts'
import type { FiredChange, WatchTable } from './watch-table.ts'
import { brokenWords, readWatchersFile } from './watchers-file.ts'
import type { WatchersFile } from './watchers-file.ts'
import type { PollCounts, Watches } from './watches.ts'

const namesShown = 10

export interface CheckedWatch {
  readonly rule: WatchRule
  readonly files: number
  /** The first matching names. */
  readonly names: readonly string[]
  readonly trouble: string | null
}

/** A fired change and its run, if it still exists. */
export interface FiredWatch {
  readonly fired: FiredChange
  readonly run: RunRecord | null
}

/** Shows watchers to people. Throws Problem `denied`. */
export interface ShowWatches {
  list(caller: Caller): {
    readonly broken: string | null
    readonly watches: readonly ActiveWatch[]
    readonly polls: PollCounts
  }
  /** Reads the current file and shows which files its rules match. The check remembers and fires nothing. */
  check(
    caller: Caller,
  ): Promise<{ readonly broken: string | null; readonly watches: readonly CheckedWatch[] }>
  history(caller: Caller, limit: number): readonly FiredWatch[]
}

/** The time limit for checking one folder, in milliseconds. A folder on an unreachable mount may never answer. */
const folderCheckMaxMs = 10_000

export function createShowWatches(deps: {
  readonly path: string
  readonly file: WatchersFile
  readonly watches: Watches
  readonly table: WatchTable
  readonly scanFolder: ScanFolder
  readonly guard: Guard
  readonly findRun: (runId: string) => RunRecord | null
  readonly checkMaxMs?: number
}): ShowWatches {
  const { file, watches, table, guard, checkMaxMs = folderCheckMaxMs } = deps

  async function checked(rule: WatchRule): Promise<CheckedWatch> {
    const watch = activateWatch(rule, [])
    const names: string[] = []
    const scanFolder: ScanFolder = (path, scan) =>
      deps.scanFolder(path, {
        ...scan,
        each: (name, stat) => {
          if (names.length < namesShown) names.push(nameAsText(name))
          return scan.each(name, stat)
        },
      })
    const signal = AbortSignal.timeout(checkMaxMs)
    try {
      await scanWatch(watch, { scanFolder, othersRemember: 0, dueMax: 0, now: 0, signal })
    } catch (error) {
      if (!signal.aborted) throw error
      watch.trouble = `the folder did not answer within ${checkMaxMs / 1000} s`
    }
    return { rule, files: watch.seen.size, names: names.toSorted(), trouble: watch.trouble }
  }

  return {
    list: (caller) => {
      guard(caller, { do: 'view-fleet' })
      return { broken: file.broken(), watches: watches.active(), polls: watches.counts() }
    },
    check: async (caller) => {
      guard(caller, { do: 'view-fleet' })
      const reading = await readWatchersFile(deps.path)
      if (!reading.ok) return { broken: brokenWords(reading), watches: [] }
      const all: CheckedWatch[] = []
      for (const rule of reading.rules) all.push(await checked(rule))
      return { broken: null, watches: all }
    },
    history: (caller, limit) => {
      guard(caller, { do: 'view-fleet' })
      return table.history(limit).map((fired) => ({ fired, run: deps.findRun(fired.runId) }))
    },
  }
}
