import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { runStates } from './run.ts'

/** The people's API of file watchers; the watchers themselves are in `config/watchers.yaml`. */
export const watchEndpoints = {
  watchers: { method: 'GET', path: '/api/watchers', summary: 'List the file watchers with their state.' },
  watcherChange: {
    method: 'PUT',
    path: '/api/watchers',
    summary: 'Create, change or delete one file watcher in config/watchers.yaml.',
  },
  watchersCheck: {
    method: 'GET',
    path: '/api/watchers/check',
    summary: 'Read config/watchers.yaml and return which files each watcher matches.',
  },
  watcherHistory: {
    method: 'GET',
    path: '/api/watchers/history',
    summary: 'List the file changes that fired watchers, newest first.',
  },
} as const satisfies Record<string, Endpoint>

export type WatchEndpointName = keyof typeof watchEndpoints

export const fileChanges = ['added', 'modified'] as const

/** An entry of `config/watchers.yaml`; unknown fields of the file are rejected by name. */
export const watcherFieldsSchema = z.strictObject({
  path: z.string().check(z.maxLength(4096)),
  pattern: z.string().check(z.maxLength(255)),
  agent: z.string().check(z.maxLength(64)),
  message: z.string().check(z.maxLength(10_000)),
  /** Null if the watcher always fires. */
  when: z.nullable(z.string().check(z.maxLength(1000))),
})
export type WatcherFields = z.infer<typeof watcherFieldsSchema>

const watcherChangeSchema = z.strictObject({
  /** The watcher as the editor saw it; null for a new one. */
  before: z.nullable(watcherFieldsSchema),
  /** The new values; null removes the watcher. */
  after: z.nullable(watcherFieldsSchema),
})
export type WatcherChangeRequest = z.infer<typeof watcherChangeSchema>

const ruleFields = {
  path: z.string(),
  pattern: z.string(),
  agent: z.string(),
  message: z.string(),
  when: z.nullable(z.string()),
  /** The watcher's position in the file. */
  line: z.int(),
}

export const watchViewSchema = z.strictObject({
  id: z.string(),
  ...ruleFields,
  /** The number of matching files that are remembered; null before the first scan. */
  files: z.nullable(z.int()),
  /** The number of changes that have not fired yet. */
  waiting: z.int(),
  /** Fired changes since the mesh started. */
  fired: z.int(),
  /** Changes since the mesh started for which `when` did not hold. */
  passed_over: z.int(),
  /** Why the folder is not scanned, or not completely. */
  trouble: z.nullable(z.string()),
  /** Why stable changes wait instead of firing; null if no such change waits. */
  held: z.nullable(z.string()),
  /** Milliseconds since 1970. */
  looked_at: z.nullable(z.number()),
  look_ms: z.number(),
})
export type WatchView = z.infer<typeof watchViewSchema>

export const watchCheckSchema = z.strictObject({
  ...ruleFields,
  files: z.int(),
  /** The first few matching names. */
  names: z.array(z.string()),
  trouble: z.nullable(z.string()),
})

export const watchFiringSchema = z.strictObject({
  watch: z.string(),
  agent_id: z.string(),
  filepath: z.string(),
  change: z.enum(fileChanges),
  size_bytes: z.number(),
  fired_at: z.number(),
  run_id: z.string(),
  /** The run's current state; null if the ledger no longer has the run. */
  state: z.nullable(z.enum(runStates)),
  /** The run's outcome. */
  outcome: z.nullable(z.string()),
})

const listResponse = z.strictObject({
  /** Why the file is not used, with file and line. */
  broken: z.nullable(z.string()),
  watchers: z.array(watchViewSchema),
  polls: z.strictObject({ done: z.int(), skipped: z.int(), longest_ms: z.number() }),
})

export const watchApi = {
  watchers: { response: listResponse },
  watcherChange: {
    request: watcherChangeSchema,
    response: z.extend(listResponse, {
      /** Why the folder cannot be watched now, with the repair. */
      notices: z._default(z.array(z.string()), []),
    }),
  },
  watchersCheck: {
    response: z.strictObject({
      broken: z.nullable(z.string()),
      watchers: z.array(watchCheckSchema),
    }),
  },
  watcherHistory: {
    query: z.strictObject({ limit: z._default(z.coerce.number().check(z.minimum(1), z.maximum(500)), 50) }),
    response: z.strictObject({ fired: z.array(watchFiringSchema) }),
  },
} as const satisfies Record<WatchEndpointName, EndpointSchemas>
