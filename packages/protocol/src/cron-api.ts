import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { agentIdSchema } from './ids.ts'
import { jsonObjectSchema } from './json-value.ts'
import { wireLimits } from './limits.ts'

/** Bounds of cron jobs that both sides of an API know. */
export const cronLimits = {
  jobsPerAgentMax: 50,
  scheduleMaxChars: 200,
  whenMaxChars: 500,
  /** How many rows one reply shows. */
  rowsShownMax: 200,
  /** How many upcoming due times are listed. */
  nextShown: 5,
} as const

/** The people's API of cron jobs. */
export const cronHumanEndpoints = {
  cronJobs: {
    method: 'GET',
    path: '/api/cron',
    summary: 'List cron jobs with their next due time and their counters.',
  },
  cronPreview: {
    method: 'GET',
    path: '/api/cron/preview',
    summary: 'Return the next due times of a schedule, or why it is invalid.',
  },
  cronCreate: { method: 'POST', path: '/api/cron', summary: 'Create a cron job.' },
  cronUpdate: {
    method: 'PUT',
    path: '/api/cron/{id}',
    summary: 'Change the changeable fields of a cron job.',
  },
  cronRemove: { method: 'DELETE', path: '/api/cron/{id}', summary: 'Delete a cron job.' },
  cronRun: {
    method: 'POST',
    path: '/api/cron/{id}/run',
    summary: 'Fire a cron job now, regardless of its schedule.',
  },
  cronHistory: {
    method: 'GET',
    path: '/api/cron/{id}/history',
    summary: 'List what happened at the due times of a cron job, newest first.',
  },
} as const satisfies Record<string, Endpoint>

/** What an agent may ask: `set_cron`, `list_cron` and `remove_cron`. */
export const cronAgentEndpoints = {
  cronSet: { method: 'POST', path: '/mesh/cron', summary: 'Create a cron job.' },
  cronList: {
    method: 'GET',
    path: '/mesh/cron',
    summary: 'List the cron jobs of the calling agent and of agents that it may see.',
  },
  cronChange: {
    method: 'PUT',
    path: '/mesh/cron/{id}',
    summary: 'Change the changeable fields of a cron job.',
  },
  cronDrop: { method: 'DELETE', path: '/mesh/cron/{id}', summary: 'Delete a cron job.' },
} as const satisfies Record<string, Endpoint>

export type CronHumanEndpointName = keyof typeof cronHumanEndpoints
export type CronAgentEndpointName = keyof typeof cronAgentEndpoints

const message = z.string().check(z.minLength(1), z.maxLength(wireLimits.chatMessageMaxChars))
const schedule = z.string().check(z.minLength(1), z.maxLength(cronLimits.scheduleMaxChars))
const toolName = z.string().check(z.minLength(1), z.maxLength(128))
/** IANA name. */
const timezone = z.string().check(z.maxLength(64))
const when = z.string().check(z.maxLength(cronLimits.whenMaxChars))

export const newCronJobSchema = z.strictObject({
  agent: agentIdSchema,
  schedule,
  timezone: z.optional(timezone),
  enabled: z.optional(z.boolean()),
  suppress_empty: z.optional(z.boolean()),
  heartbeat: z.optional(z.boolean()),
  message: z.optional(message),
  tool_name: z.optional(toolName),
  tool_params: z.optional(jsonObjectSchema),
  when: z.optional(when),
})
export type NewCronJob = z.output<typeof newCronJobSchema>

/**
 * The changeable fields of a job; to change another one, remove the job and make a new one. `when` is an addition to
 * the specification’s record: like `enabled` it narrows a schedule, so it can be changed. An empty `when` removes it.
 * `timezone` is part of when a job fires, like `schedule`.
 */
export const cronChangeSchema = z.strictObject({
  schedule: z.optional(schedule),
  timezone: z.optional(timezone),
  message: z.optional(message),
  enabled: z.optional(z.boolean()),
  suppress_empty: z.optional(z.boolean()),
  tool_name: z.optional(toolName),
  tool_params: z.optional(jsonObjectSchema),
  when: z.optional(when),
})
export type CronChange = z.output<typeof cronChangeSchema>

/**
 * The values of the fields that the editor saw, as text; empty for none. If a field has another value by now, the
 * change is rejected with `edit-overtaken`.
 */
export const cronSeenSchema = z.strictObject({
  schedule: z.optional(z.string().check(z.maxLength(cronLimits.scheduleMaxChars))),
  timezone: z.optional(timezone),
  message: z.optional(z.string().check(z.maxLength(wireLimits.chatMessageMaxChars))),
  when: z.optional(z.string().check(z.maxLength(cronLimits.whenMaxChars))),
  enabled: z.optional(z.boolean()),
})
export type CronSeen = z.output<typeof cronSeenSchema>

/** `firing`: the run was requested, and it is not known yet whether it started. */
export const cronRowStates = ['firing', 'fired', 'skipped'] as const

export const cronRowSchema = z.strictObject({
  /** The first due time that the row covers, milliseconds since 1970. */
  due_at: z.number(),
  /** The last due time; equal to the first if the row covers one. */
  due_until: z.number(),
  /** The number of due times that the row covers, or a lower bound if `count_exact` is false. */
  count: z.int(),
  count_exact: z.boolean(),
  state: z.enum(cronRowStates),
  /** The reason why the due times were skipped, as a code; `null` if the job fired. */
  skipped_because: z.nullable(z.string()),
  detail: z.string(),
  manual: z.boolean(),
  /** The time at which the mesh decided to fire the job or to skip the due times. */
  at: z.number(),
  late_ms: z.number(),
  late: z.boolean(),
  run_id: z.nullable(z.string()),
  /** How the run ended, or null while it is active. */
  outcome: z.nullable(z.string()),
  text: z.string(),
  /** True if the answer said nothing new, so no notice was sent. */
  quiet: z.boolean(),
  /** A full description of the row, for a person. */
  words: z.string(),
})
export type CronRowView = z.infer<typeof cronRowSchema>

export const cronJobViewSchema = z.strictObject({
  id: z.string(),
  agent: z.string(),
  mode: z.enum(['message', 'tool', 'heartbeat']),
  schedule: z.string(),
  timezone: z.string(),
  enabled: z.boolean(),
  suppress_empty: z.boolean(),
  heartbeat: z.boolean(),
  message: z.nullable(z.string()),
  tool_name: z.nullable(z.string()),
  tool_params: z.nullable(jsonObjectSchema),
  when: z.nullable(z.string()),
  created_by: z.string(),
  created_at: z.number(),
  /** Milliseconds since 1970; null if the job is disabled. */
  next_run: z.nullable(z.number()),
  last_run: z.nullable(z.number()),
  last_outcome: z.nullable(z.string()),
  run_count: z.int(),
  skip_count: z.int(),
  error_count: z.int(),
  errors_in_row: z.int(),
  /** How the effective schedule differs from the written one, and why; empty if it does not. */
  note: z.string(),
})
export type CronJobView = z.infer<typeof cronJobViewSchema>

const listResponse = z.strictObject({
  jobs: z.array(cronJobViewSchema),
  /** Line and reason if the current file is invalid; null while it is in use. */
  broken: z.nullable(z.string()),
})
const removeResponse = z.strictObject({ removed: z.boolean(), id: z.string() })

export const cronHumanApi = {
  cronJobs: { query: z.strictObject({ agent: z.optional(agentIdSchema) }), response: listResponse },
  cronPreview: {
    query: z.strictObject({
      schedule: z.string().check(z.maxLength(cronLimits.scheduleMaxChars)),
      timezone: z.optional(z.string().check(z.maxLength(64))),
      when: z.optional(when),
    }),
    response: z.strictObject({
      /** The invalid field, and why; null if a job could be made from this input. */
      fault: z.nullable(
        z.strictObject({ field: z.enum(['schedule', 'timezone', 'when']), reason: z.string() }),
      ),
      /** The next due times if the job were made now, in milliseconds since 1970. */
      next: z.array(z.number()),
    }),
  },
  cronCreate: { request: newCronJobSchema, response: cronJobViewSchema },
  cronUpdate: {
    request: z.extend(cronChangeSchema, { seen: z.optional(cronSeenSchema) }),
    response: cronJobViewSchema,
  },
  cronRemove: { response: removeResponse },
  cronRun: { response: cronRowSchema },
  cronHistory: {
    query: z.strictObject({
      limit: z._default(z.coerce.number().check(z.minimum(1), z.maximum(cronLimits.rowsShownMax)), 20),
    }),
    response: z.strictObject({
      job: cronJobViewSchema,
      rows: z.array(cronRowSchema),
      why: z.array(z.string()),
      /**
       * The next due times, milliseconds since 1970; empty for a disabled job. The condition is evaluated at each.
       */
      next: z.array(z.number()),
    }),
  },
} as const satisfies Record<CronHumanEndpointName, EndpointSchemas>

export const cronAgentApi = {
  cronSet: {
    /** The agent that the job is for; the caller if omitted. */
    request: z.strictObject({ ...newCronJobSchema.shape, agent: z.optional(agentIdSchema) }),
    response: cronJobViewSchema,
  },
  cronList: { response: listResponse },
  cronChange: { request: cronChangeSchema, response: cronJobViewSchema },
  cronDrop: { response: removeResponse },
} as const satisfies Record<CronAgentEndpointName, EndpointSchemas>
