import { zoneOffsetMs } from './zone-offset.ts'

/**
 * Clocks of a zone and the moments at which they show a time. A wall time is what the clocks show, written as if it were
 * UTC, in milliseconds. Two changes of one zone are taken to be more than two days apart.
 */

const dayMs = 86_400_000

/** What the clocks of a zone show at a moment. Pure. */
export function wallAt(timezone: string, at: number): number {
  return at + zoneOffsetMs(timezone, at)
}

/** The latest time that the clocks have shown up to a moment: a clock that was set back has shown more than it shows. Pure. */
export function latestWallUntil(timezone: string, at: number): number {
  const change = changeWithin(timezone, at - dayMs, at)
  const shown = wallAt(timezone, at)
  return change === null ? shown : Math.max(shown, change.at - 1 + change.before)
}

/** The first moment at which the clocks show a wall time or, where it falls into a gap, a later one. Pure. */
export function firstMomentOf(timezone: string, wall: number): number {
  // No zone is a day ahead of or behind UTC.
  const change = changeWithin(timezone, wall - dayMs, wall + dayMs)
  if (change === null) return wall - zoneOffsetMs(timezone, wall)
  if (wall - change.before < change.at) return wall - change.before
  return Math.max(change.at, wall - change.after)
}

/** The first moment after `after` at which the clocks show exactly that wall time; null where there is none. Pure. */
export function momentShowing(timezone: string, wall: number, after: number): number | null {
  const change = changeWithin(timezone, wall - dayMs, wall + dayMs)
  if (change === null) {
    const at = wall - zoneOffsetMs(timezone, wall)
    return at > after ? at : null
  }
  const [first, second] = [wall - change.before, wall - change.after]
  if (first < change.at && first > after) return first
  return second >= change.at && second > after ? second : null
}

export interface ClockChange {
  /** The first moment of the new offset. */
  readonly at: number
  /** Offsets from UTC, milliseconds. */
  readonly before: number
  readonly after: number
}

/** The change of a zone's offset after `from` and up to `until`; null where there is none. Pure. */
export function changeWithin(timezone: string, from: number, until: number): ClockChange | null {
  const before = zoneOffsetMs(timezone, from)
  const after = zoneOffsetMs(timezone, until)
  if (before === after) return null
  let [last, at] = [from, until]
  while (at - last > 1) {
    const middle = Math.floor((last + at) / 2)
    if (zoneOffsetMs(timezone, middle) === before) last = middle
    else at = middle
  }
  return { at, before, after }
}
