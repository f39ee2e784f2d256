import type { Clock } from '@flotilla/protocol/clock'

/** How many refusals of one caller are recorded per minute, so that an agent in a loop cannot flood the audit log. */
const writtenPerMinute = 20
/** The window in which refusals of one caller are counted for the audit log, in milliseconds. */
const windowMs = 60_000
/**
 * The maximum number of callers whose refusals are counted: more than any fleet has, so the limit only contains the
 * effect of a bug.
 */
const windowsMax = 10_000

interface Window {
  readonly startedAt: number
  written: number
  unwritten: number
}

/**
 * Returns how many refusals of the actor were not recorded before this one; null if this one is not recorded either.
 */
export type UnwrittenBefore = (actor: string) => number | null

/** Creates the limit of rows that one caller's refusals write into the audit log. */
export function createWriteWindow(clock: Clock, perMinute: number = writtenPerMinute): UnwrittenBefore {
  const windows = new Map<string, Window>()
  return (actor) => {
    const now = clock.now()
    const known = windows.get(actor)
    if (known && known.startedAt <= now && now - known.startedAt < windowMs) {
      if (known.written >= perMinute) {
        known.unwritten++
        return null
      }
      known.written++
      return 0
    }
    if (windows.size >= windowsMax) windows.clear()
    windows.set(actor, { startedAt: now, written: 1, unwritten: 0 })
    return known?.unwritten ?? 0
  }
}
