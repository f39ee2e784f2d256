import {
  nearestScheduleWords,
  readScheduleWords,
  scheduleExamples,
  whyNoSchedule,
} from '@flotilla/protocol/schedule-words'
import type { CronSeen, CronJobView, NewCronJob } from '@flotilla/protocol/cron-api'

/** The settings of a job that a person edits, as text of form fields. */
export interface JobFields {
  readonly schedule: string
  /** IANA name; empty for UTC. */
  readonly timezone: string
  readonly message: string
  /** Empty for always. */
  readonly when: string
  readonly enabled: boolean
}

/** The fields of an empty form; its schedule is in words, as its hint asks. */
export const newJob: JobFields = {
  schedule: 'every day at 9:00',
  timezone: '',
  message: '',
  when: '',
  enabled: true,
}

/** Returns the fields with a schedule in words replaced by the one that it means, if it is understood. Pure. */
export function withReadSchedule(job: JobFields): JobFields {
  return { ...job, schedule: readScheduleWords(job.schedule) ?? job.schedule }
}

/** Says why a schedule in words is not accepted, and what to write. Pure. */
export function describeUnread(schedule: string): string {
  const why = whyNoSchedule(schedule)
  if (why !== null) return `“${schedule.trim()}” cannot be one: ${why}.`
  const near = nearestScheduleWords(schedule)
  return near === null
    ? `not understood. Write words such as “${scheduleExamples[0]}”.`
    : `not understood. The nearest form is “${near}”.`
}

/** Pure. */
export function fieldsOf({ schedule, timezone, message, when, enabled }: CronJobView): JobFields {
  return {
    schedule,
    timezone: timezone === 'UTC' ? '' : timezone,
    message: message ?? '',
    when: when ?? '',
    enabled,
  }
}

/** Formats one field a line, for a readable difference. Pure. */
export function jobText(job: JobFields): string {
  return [
    `schedule: ${job.schedule.trim()}`,
    `time zone: ${zoneOf(job)}`,
    `only when: ${job.when.trim() === '' ? 'always' : job.when.trim()}`,
    `switched: ${job.enabled ? 'on' : 'off'}`,
    `says: ${job.message.trim()}`,
  ].join('\n')
}

/** Returns the fields that differ in `after`, and their previous values for the undo. Pure. */
export function jobChange(
  before: JobFields,
  after: JobFields,
): { readonly change: CronSeen; readonly back: CronSeen } {
  const change: Record<string, string | boolean> = {}
  const back: Record<string, string | boolean> = {}
  for (const name of ['schedule', 'message', 'when'] as const) {
    if (before[name].trim() === after[name].trim()) continue
    change[name] = after[name].trim()
    back[name] = before[name]
  }
  if (zoneOf(before) !== zoneOf(after)) {
    change['timezone'] = zoneOf(after)
    back['timezone'] = zoneOf(before)
  }
  if (before.enabled !== after.enabled) {
    change['enabled'] = after.enabled
    back['enabled'] = before.enabled
  }
  return { change, back }
}

function zoneOf({ timezone }: JobFields): string {
  return timezone.trim() === '' ? 'UTC' : timezone.trim()
}

/** Pure. */
export function jobOf(agent: string, { schedule, timezone, message, when, enabled }: JobFields): NewCronJob {
  return {
    agent,
    schedule: schedule.trim(),
    message: message.trim(),
    enabled,
    ...(timezone.trim() === '' ? {} : { timezone: timezone.trim() }),
    ...(when.trim() === '' ? {} : { when: when.trim() }),
  }
}

/** Returns the request that creates a removed job again; its counts and history start empty. Pure. */
export function jobAgain(job: CronJobView): NewCronJob {
  return {
    agent: job.agent,
    schedule: job.schedule,
    timezone: job.timezone,
    enabled: job.enabled,
    suppress_empty: job.suppress_empty,
    ...(job.message === null ? {} : { message: job.message }),
    ...(job.tool_name === null ? {} : { tool_name: job.tool_name }),
    ...(job.tool_params === null ? {} : { tool_params: job.tool_params }),
    ...(job.when === null ? {} : { when: job.when }),
  }
}
