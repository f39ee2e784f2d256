import { cronLimits } from '@flotilla/protocol/cron-api'
import type { ReadCondition } from './cron-job.ts'
import { nextDue } from './cron-schedule.ts'
import { readSchedule } from './read-schedule.ts'
import { cronTickMs } from './cron-tick.ts'

export interface AskedPreview {
  readonly schedule: string
  /** The IANA name of the time zone; UTC if missing. */
  readonly timezone?: string | undefined
  readonly when?: string | undefined
}

export interface SchedulePreview {
  readonly fault: { readonly field: 'schedule' | 'timezone' | 'when'; readonly reason: string } | null
  /** The next due times, in milliseconds since 1970. */
  readonly next: number[]
}

/** Returns the due times of a job that is created now, or the invalid field and the reason. Pure. */
export function previewSchedule(
  { schedule: text, timezone = 'UTC', when = '' }: AskedPreview,
  { now, readCondition }: { readonly now: number; readonly readCondition: ReadCondition },
): SchedulePreview {
  const reading = readSchedule(text, { timezone, anchor: now - (now % cronTickMs) })
  if (!reading.ok) return { fault: { field: reading.field, reason: reading.reason }, next: [] }
  const next: number[] = []
  for (let due = nextDue(reading.schedule, now); next.length < cronLimits.nextShown;) {
    if (due === null || !Number.isFinite(due)) break
    next.push(due)
    due = nextDue(reading.schedule, due)
  }
  try {
    if (when.trim() !== '') readCondition(when)
  } catch (error) {
    return { fault: { field: 'when', reason: error instanceof Error ? error.message : String(error) }, next }
  }
  return { fault: null, next }
}
