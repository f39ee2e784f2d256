import { cronLimits } from '@flotilla/protocol/cron-api'
import { agentIdSchema } from '@flotilla/protocol/ids'
import { jsonObjectSchema } from '@flotilla/protocol/json-value'
import type { JsonValue } from '@flotilla/protocol/json-value'
import { wireLimits } from '@flotilla/protocol/limits'
import * as z from 'zod'
import type { Schedule } from './cron-schedule.ts'
import { readSchedule } from './read-schedule.ts'
import { cronTickMs } from './cron-tick.ts'

/** A job in `config/cron.json`. Missing fields get their defaults. */
export const cronJobSchema = z
  .strictObject({
    id: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, 'an id is 1 to 64 letters, digits, _ and -'),
    agent: agentIdSchema,
    schedule: z.string(),
    /** The time zone of the schedule, as an IANA name. */
    timezone: z.string().default('UTC'),
    enabled: z.boolean().default(true),
    suppress_empty: z.boolean().default(true),
    heartbeat: z.boolean().default(false),
    message: z.string().min(1).max(wireLimits.chatMessageMaxChars).optional(),
    tool_name: z.string().min(1).max(128).optional(),
    tool_params: z.optional(jsonObjectSchema),
    when: z.string().max(cronLimits.whenMaxChars).optional(),
    /** Who made the job, as the audit log names callers. A job never has more permissions than its maker. */
    created_by: z.string().max(128).default('file'),
    /** When the job was created, in milliseconds since 1970. Intervals are counted from this time. */
    created_at: z.number().int().min(0).default(0),
  })
  .check((context) => {
    const job = context.value
    for (const { field, reason } of faultsOf(job)) {
      context.issues.push({ code: 'custom', path: [field], message: reason, input: job })
    }
  })
export type CronJob = z.output<typeof cronJobSchema>

/** A job with its derived values. */
export interface LiveJob {
  readonly job: CronJob
  readonly schedule: Schedule
  /** Null if the job has no condition; an error text if the condition cannot be parsed. */
  readonly when: ((payload: JsonValue) => boolean) | string | null
  /** When the job is next due, in milliseconds since 1970; infinite if never. The ticker compares it to now. */
  nextDue: number
  /** While a pause defers `nextDue`: the due time after it, at which the deferred one is skipped. Otherwise null. */
  heldUntil: number | null
}

/** Parses a `when` into a predicate. Throws a Problem with the position of the error. */
export type ReadCondition = (text: string) => (payload: JsonValue) => boolean

type CronMode = 'message' | 'tool' | 'heartbeat'

/** Returns the mode of a job, which its fields determine. Pure. */
export function modeOf(job: Pick<CronJob, 'heartbeat' | 'tool_name'>): CronMode {
  if (job.heartbeat) return 'heartbeat'
  return job.tool_name === undefined ? 'message' : 'tool'
}

/** Returns the effective schedule. Throws for a job for which `faultsOf` reports a fault. Pure. */
export function scheduleOf(job: CronJob): Schedule {
  const reading = readSchedule(job.schedule, {
    timezone: job.timezone,
    anchor: anchorOf(job.created_at),
  })
  if (!reading.ok) throw new Error(`job ${job.id} has no schedule: ${reading.reason}`)
  return reading.schedule
}

/** Returns the creation time aligned to a tick, so that an interval of one tick is due at each tick. */
function anchorOf(createdAt: number): number {
  return createdAt - (createdAt % cronTickMs)
}

interface JobFault {
  readonly field: keyof CronJob
  readonly reason: string
}

/** Returns the reasons why a job is invalid, by field. Pure. */
export function faultsOf(
  job: Pick<CronJob, 'schedule' | 'timezone' | 'heartbeat' | 'message' | 'tool_name' | 'tool_params'>,
): readonly JobFault[] {
  const faults: JobFault[] = []
  const reading = readSchedule(job.schedule, { timezone: job.timezone, anchor: 0 })
  if (!reading.ok) faults.push({ field: reading.field, reason: reading.reason })
  if (job.heartbeat && job.tool_name !== undefined)
    faults.push({
      field: 'tool_name',
      reason: 'a heartbeat cannot call a tool; remove heartbeat or tool_name',
    })
  if (!job.heartbeat && job.tool_name !== undefined && job.message !== undefined)
    faults.push({ field: 'message', reason: 'a job has a message or a tool_name, not both' })
  if (!job.heartbeat && job.tool_name === undefined && job.message === undefined)
    faults.push({ field: 'message', reason: 'give a message, a tool_name, or heartbeat: true' })
  if (job.tool_name === undefined && job.tool_params !== undefined)
    faults.push({ field: 'tool_params', reason: 'tool_params need a tool_name' })
  return faults
}

/** Returns a key: equal keys mean equal due times. A job with a new key counts from the time of the change. Pure. */
export function scheduleKey(job: CronJob): string {
  return JSON.stringify([job.enabled, job.schedule, job.timezone, anchorOf(job.created_at), job.agent])
}
