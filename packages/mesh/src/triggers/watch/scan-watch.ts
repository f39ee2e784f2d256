import { conditionHolds } from '../conditions/index.ts'
import { nameAsText } from './scan-folder.ts'
import type { ScanEnd, ScanFolder } from './scan-folder.ts'
import { createSeenFiles } from './seen-files.ts'
import type { FileStat, NoticedChange, SeenFiles } from './seen-files.ts'
import { watchName } from './watch-rule.ts'
import type { WatchRule } from './watch-rule.ts'

/** Files of one watch that are remembered, and of all watches together. */
const filesPerWatchMax = 1_000_000
export const filesMax = 1_000_000

/**
 * How long a change waits for its file to rest, milliseconds; then it is fired as it is, and what is written after that
 * is a change of its own. A log that is written to without end is so told of every five minutes; an upload that takes
 * longer is told of before it is whole, and again when it rests.
 */
export const restWaitMaxMs = 300_000

/** A watch that is at work, and what it remembers. */
export interface ActiveWatch {
  rule: WatchRule
  readonly seen: SeenFiles
  /** Its first scan is over: what is new from now on counts. */
  hasScanned: boolean
  /** A scan that goes on, also when nobody waits for it any more. */
  scanning: Promise<unknown> | null
  /** Why the folder cannot be looked through, or only in part; null while it can. */
  trouble: string | null
  /** Why changes wait that were still already; null while none does. */
  held: string | null
  /** Changes that wait, as of the last scan whose finds are in the database. */
  waiting: number
  fired: number
  /** Changes for which the condition did not hold. */
  passedOver: number
  scannedAt: number | null
  scanMs: number
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
  }
}

/** What one scan found out. */
export interface ScanReport {
  /** Changes that were not known before. */
  readonly noticed: readonly NoticedChange[]
  /** Changes of files that are still, or that waited long for it, to be fired; no more than were asked for. */
  readonly due: readonly NoticedChange[]
  /** Names whose change waits no more: the file is gone, or the condition does not hold. */
  readonly settled: readonly string[]
}

/**
 * Scans a watch’s folder once. A folder that is not there has no files at the first scan, and later is taken
 * for away: what is remembered of its files stays. So is what a scan did not get to see. Rejects with the signal's
 * reason alone.
 */
export async function scanWatch(
  watch: ActiveWatch,
  deps: {
    readonly scanFolder: ScanFolder
    /** Files that other watches remember. */
    readonly othersRemember: number
    readonly dueMax: number
    /** Milliseconds since 1970. */
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
    // Names that are gone keep their places until a whole scan has told so; new ones come in by the scan after it.
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
  // Nobody knows what is in a folder that cannot be read; what is there when it can be was there before.
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
