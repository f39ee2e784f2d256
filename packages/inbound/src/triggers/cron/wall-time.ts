import { zoneOffsetMs } from './zone-offset.ts'

/**
 * Conversions between the wall clock of a zone and points in time. A wall time is what the clocks show, written as
 * milliseconds as if it were UTC. Assumes that two changes of a zone are more than two days apart.
 */

const dayMs = 86_400_000

/** Returns the wall time of a zone at a point in time. Pure. */
export function wallAt(timezone: string, at: number): number {
  return at + zoneOffsetMs(timezone, at)
}

/**
 * Returns the latest wall time that the clocks have shown so far. After clocks were set back, this
 * is later than the current wall time. Pure.
 */
export function latestWallUntil(timezone: string, at: number): number {
  const change = changeWithin(timezone, at - dayMs, at)
  const shown = wallAt(timezone, at)
  return change === null ? shown : Math.max(shown, change.at - 1 + change.before)
}

/** Returns when clocks first show a wall time or, if it is in a gap, a later wall time. Pure. */
export function firstMomentOf(timezone: string, wall: number): number {
  // The range covers the wall time in every zone, because no zone differs from UTC by a day.
  const change = changeWithin(timezone, wall - dayMs, wall + dayMs)
  if (change === null) return wall - zoneOffsetMs(timezone, wall)
  if (wall - change.before < change.at) return wall - change.before
  return Math.max(change.at, wall - change.after)
}

/** Returns when, after `after`, the clocks first show exactly this wall time; null if they never do. Pure. */
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
  /** The first point in time at which the new offset applies. */
  readonly at: number
  /** The zone's offsets from UTC before and after the change, in milliseconds. */
  readonly before: number
  readonly after: number
}

/** Returns the change of a zone's offset after `from` and up to `until`; null if none exists. Pure. */
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
