import { conditionHolds } from '../conditions/index.ts'
import { nameAsText } from './scan-folder.ts'
import type { ScanEnd, ScanFolder } from './scan-folder.ts'
import { createSeenFiles } from './seen-files.ts'
import type { FileStat, NoticedChange, SeenFiles } from './seen-files.ts'
import { watchName } from './watch-rule.ts'
import type { WatchRule } from './watch-rule.ts'

/** The maximum number of files that are remembered for one watch, and for all watches. */
const filesPerWatchMax = 1_000_000
/** The maximum number of files that are remembered for all file watchers together. */
export const filesMax = 1_000_000

/**
 * How long a change waits for its file to become stable, in milliseconds. Then the change fires,
 * and later writes are a new change. A continuously written log is therefore reported every five
 * minutes. A longer upload is reported before it is complete and again when the file is stable.
 */
export const restWaitMaxMs = 300_000

/** An active watch and its memory. */
export interface ActiveWatch {
  rule: WatchRule
  readonly seen: SeenFiles
  /** True after the first scan. From then on new files count as changes. */
  hasScanned: boolean
  /** The scan in progress, also if its caller no longer waits for the result; null if no scan runs. */
  scanning: Promise<unknown> | null
  /** Why the folder cannot be scanned completely; null if the last scan was complete. */
  trouble: string | null
  /** Why stable changes wait instead of firing; null if no stable change waits. */
  held: string | null
  /** The number of waiting changes after the last persisted scan. */
  waiting: number
  fired: number
  /** The number of changes for which the condition did not hold. */
  passedOver: number
  scannedAt: number | null
  scanMs: number
  /** The rows that are being written or that the disk refused: a later scan does not notice their changes again. */
  owed: Pick<ScanReport, 'noticed' | 'settled'>
}

export function activateWatch(rule: WatchRule, noticed: readonly NoticedChange[]): ActiveWatch {
  const seen = createSeenFiles()
  for (const change of noticed) seen.recall(change)
  return {
    rule,
    seen,
    hasScanned: false,
    scanning: null,
    trouble: null,
    held: null,
    waiting: seen.waiting,
    fired: 0,
    passedOver: 0,
    scannedAt: null,
    scanMs: 0,
    owed: { noticed: [], settled: [] },
  }
}

/** The result of one scan. */
export interface ScanReport {
  /** The changes that this scan noticed. */
  readonly noticed: readonly NoticedChange[]
  /** The changes to fire: stable changes, and changes that waited too long, up to the limit. */
  readonly due: readonly NoticedChange[]
  /** The names whose change no longer waits: the file is gone, or the condition does not hold. */
  readonly settled: readonly string[]
}

/**
 * Scans a watch's folder once. A missing folder counts as empty at the first scan and as temporarily away later:
 * its files stay remembered. So do files that a scan did not reach. Rejects only with the signal's reason.
 */
export async function scanWatch(
  watch: ActiveWatch,
  deps: {
    readonly scanFolder: ScanFolder
    /** The number of files that other watches remember. */
    readonly othersRemember: number
    readonly dueMax: number
    /** The time of the scan, in milliseconds since 1970. */
    readonly now: number
    readonly signal: AbortSignal
  },
): Promise<ScanReport> {
  const { rule, seen } = watch
  const noticed: NoticedChange[] = []
  const due: NoticedChange[] = []
  const settled: string[] = []
  const room = Math.min(filesPerWatchMax, filesMax - deps.othersRemember)
  let met = 0
  let isFull = false

  function each(name: string, stat: FileStat): boolean {
    met++
    if (met > room) return false
    // Deleted files are forgotten only after a complete scan, so the scan after that has room for new files.
    if (seen.size >= room && !seen.has(name)) {
      isFull = true
      return true
    }
    const found = seen.observe(name, stat, !watch.hasScanned)
    if (found.waiting === null) return true
    const change = { name, change: found.waiting, stat, noticedAt: found.noticedAt }
    if (found.isNoticed) noticed.push(change)
    if (!found.isStill && deps.now - found.noticedAt < restWaitMaxMs) return true
    if (!wants(rule, change)) {
      watch.passedOver++
      seen.quiet(name)
      settled.push(name)
    } else if (due.length < deps.dueMax) due.push(change)
    return true
  }

  seen.beginRound(deps.now)
  const end = await deps.scanFolder(rule.path, { pattern: rule.pattern, each, signal: deps.signal })
  watch.trouble = troubleOf(end.kind === 'whole' ? { ...end, leftOut: end.leftOut || isFull } : end, room)
  if (end.kind === 'whole' && !end.leftOut) settled.push(...seen.endRound())
  // If the folder was never readable, the next scan counts as the first: files are accepted without changes.
  if (end.kind !== 'unreadable') watch.hasScanned = true
  return { noticed, due, settled }
}

function wants(rule: WatchRule, change: NoticedChange): boolean {
  if (rule.when === null) return true
  const filename = nameAsText(change.name)
  return conditionHolds(rule.when, {
    filename,
    filepath: watchName({ path: rule.path, pattern: filename }),
    size_bytes: change.stat.sizeBytes,
    change: change.change,
  })
}

function troubleOf(end: ScanEnd, room: number): string | null {
  switch (end.kind) {
    case 'missing':
      return 'the folder does not exist'
    case 'unreadable':
      return `the folder cannot be read: ${end.reason}`
    case 'whole':
      return end.leftOut
        ? `more than ${room} files match or the folder holds too many entries: the rest is not watched`
        : null
  }
}
