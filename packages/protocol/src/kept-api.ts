import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { agentIdSchema } from './ids.ts'
import { jsonValueSchema } from './json-value.ts'
import { memoryLimits, workspaceTextMaxChars } from './limits.ts'

/** The people's API: what an agent stores, uses and logs, and where its permissions come from. */
export const keptEndpoints = {
  fleetUse: {
    method: 'GET',
    path: '/api/use',
    summary: 'Return the current memory, processor and context use of each agent.',
  },
  identityFiles: {
    method: 'GET',
    path: '/api/agents/{id}/workspace',
    summary: 'List an agent’s workspace files with their size limits.',
  },
  identityFile: {
    method: 'GET',
    path: '/api/agents/{id}/workspace/{file}',
    summary: 'Return one workspace file of an agent.',
  },
  folder: {
    method: 'GET',
    path: '/api/agents/{id}/files',
    summary: 'List one folder below /data of an agent.',
  },
  fileRead: {
    method: 'GET',
    path: '/api/agents/{id}/files/{*path}',
    summary: 'Return the bytes of a file below /data of an agent.',
  },
  pictureRead: {
    method: 'GET',
    path: '/api/agents/{id}/pictures/{sha256}',
    summary: 'Return an image that an agent viewed, while the agent stores it.',
  },
  facts: {
    method: 'GET',
    path: '/api/agents/{id}/memory',
    summary: 'List the facts in an agent’s memory, newest first, with their sources.',
  },
  factForget: {
    method: 'DELETE',
    path: '/api/agents/{id}/memory/{fact}',
    summary: 'Delete one fact from an agent’s memory.',
  },
  agentTools: {
    method: 'GET',
    path: '/api/agents/{id}/tools',
    summary: 'List an agent’s tools and skills.',
  },
  agentLogs: {
    method: 'GET',
    path: '/api/agents/{id}/logs',
    summary: 'Return the last lines that an agent’s process printed.',
  },
  permissionOrigins: {
    method: 'GET',
    path: '/api/agents/{id}/permissions',
    summary: 'List an agent’s permissions, with who granted each and when.',
  },
} as const satisfies Record<string, Endpoint>

export type KeptEndpointName = keyof typeof keptEndpoints

export const keptLimits = {
  /** The maximum length of a file's or folder's name, in characters. */
  nameMaxChars: 255,
  /** The maximum length of a path below /data, in characters. */
  pathMaxChars: 1000,
  /** The maximum number of one folder's entries in one reply. */
  folderEntriesMax: 500,
  /** The maximum size of one file read through the mesh, in bytes: the mesh buffers it. */
  fileReadMaxBytes: 8 * 1024 * 1024,
  /** The maximum number of facts in one reply. */
  factsMax: 100,
  /** The maximum length of the words for which facts are searched, in characters. */
  factSearchMaxChars: 200,
  /** The maximum number of log lines in one reply. */
  logLinesMax: 1000,
} as const

const count = (max: number, preset: number) =>
  z._default(z.coerce.number().check(z.minimum(1), z.maximum(max), z.multipleOf(1)), preset)

const text = (maxChars: number) => z.string().check(z.maxLength(maxChars))
const atLeastNone = z.int().check(z.minimum(0))
const entryName = text(keptLimits.nameMaxChars)

export const identityFileSchema = z.strictObject({
  name: entryName,
  /** Size in characters. */
  size: atLeastNone,
  /** The maximum number of characters; null without a cap. */
  cap: z.nullable(atLeastNone),
  /** True if the file still has its default content. */
  is_default: z.boolean(),
  /** True if only the mesh writes the file. */
  read_only: z.boolean(),
})
export type IdentityFile = z.infer<typeof identityFileSchema>

export const folderEntrySchema = z.strictObject({
  /** The exact name within the requested folder, by which the entry is addressed. */
  name: entryName,
  kind: z.enum(['file', 'directory', 'link', 'other']),
  size_bytes: atLeastNone,
})

const folder = {
  path: text(keptLimits.pathMaxChars),
  /** Whether the folder has more entries than are listed. */
  more: z.boolean(),
}
const entries = <Entry extends z.core.$ZodType>(entry: Entry) =>
  z.array(entry).check(z.maxLength(keptLimits.folderEntriesMax))

/** The folder as the agent reports it. */
export const folderSchema = z.strictObject({ ...folder, entries: entries(folderEntrySchema) })

/**
 * The folder as people see it: `shown` is the name in one line without invisible characters, and may not be
 * unique.
 */
export const shownEntrySchema = z.strictObject({ ...folderEntrySchema.shape, shown: entryName })
export type ShownEntry = z.infer<typeof shownEntrySchema>
export const shownFolderSchema = z.strictObject({ ...folder, entries: entries(shownEntrySchema) })

/** The name of a fact, as the agent's own tools show it. */
export const factNameSchema = z.string().check(z.regex(/^fact_\d{1,15}$/, 'a fact is named like fact_12'))

/** The trust in a fact: that of the least trusted text that its author had read. */
export const factTrusts = ['owner', 'self', 'agent', 'outside'] as const

const sourceWord = text(memoryLimits.sourceWordMaxChars)

/** A fact; everything in it is reported by an agent. Times are milliseconds since 1970. */
export const factSchema = z.strictObject({
  id: factNameSchema,
  key: z.nullable(text(memoryLimits.factKeyMaxChars)),
  text: text(memoryLimits.factTextMaxChars),
  category: text(memoryLimits.factCategoryMaxChars),
  trust: z.enum(factTrusts),
  source: z.strictObject({
    run_id: sourceWord,
    tool: sourceWord,
    origin: sourceWord,
    channel: sourceWord,
    urls: z.array(text(memoryLimits.sourceUrlMaxChars)).check(z.maxLength(memoryLimits.sourceUrlsMax)),
  }),
  created_at: atLeastNone,
  last_used_at: atLeastNone,
  use_count: atLeastNone,
})
export type FactView = z.infer<typeof factSchema>

export const factsQuerySchema = z.strictObject({
  /** Words that the facts must contain; if omitted, all facts. */
  words: z._default(z.string().check(z.maxLength(keptLimits.factSearchMaxChars)), ''),
  /** Only facts older than this one. */
  before: z.optional(factNameSchema),
  limit: count(keptLimits.factsMax, 50),
})

export const factsSchema = z.strictObject({
  facts: z.array(factSchema).check(z.maxLength(keptLimits.factsMax)),
  /** The number of facts in the whole memory. */
  total: atLeastNone,
  /** Whether there are older facts that match. */
  more: z.boolean(),
})

/** `was_there` is false if the fact did not exist. */
export const forgottenSchema = z.strictObject({ id: factNameSchema, was_there: z.boolean() })

export const agentUseSchema = z.strictObject({
  agent_id: agentIdSchema,
  /** The agent's current run. */
  run_id: z.nullable(z.string()),
  /** Null while the agent does not run. */
  memory_bytes: z.nullable(z.number()),
  /** Null if there is no limit. */
  memory_limit_bytes: z.nullable(z.number()),
  /** Load of one processor since the previous measurement; null without one. */
  cpu_percent: z.nullable(z.number()),
  /**
   * The highest values that were measured in the last hour; null without a measurement. The mesh measures only while
   * a client asks for the use of agents.
   */
  last_hour: z.nullable(
    z.strictObject({
      /** When the first of these measurements was made, in milliseconds since 1970. */
      since: z.number(),
      memory_bytes: z.number(),
      cpu_percent: z.nullable(z.number()),
    }),
  ),
  /** Tokens of its last model call with the answer; null before the first one since the mesh started. */
  context_tokens: z.nullable(z.number()),
  /** The context window of its model in tokens; null if unknown. */
  context_window: z.nullable(z.number()),
})
export type AgentUse = z.infer<typeof agentUseSchema>

export const permissionOriginSchema = z.strictObject({
  field: z.string(),
  value: jsonValueSchema,
  /** `none` allows nothing, `default` is what every new agent of its kind gets, `grant` was given to this agent. */
  from: z.enum(['none', 'default', 'grant']),
  /** The actor who set the current value, from the audit log; null if the log does not contain it. */
  by: z.nullable(z.string()),
  at: z.nullable(z.number()),
  /** Line of the file, from 1; null if the file omits the field. */
  line: z.nullable(z.int()),
})
export type PermissionOrigin = z.infer<typeof permissionOriginSchema>

export const keptApi = {
  fleetUse: { response: z.strictObject({ agents: z.array(agentUseSchema) }) },
  identityFiles: { response: z.strictObject({ files: z.array(identityFileSchema) }) },
  identityFile: { response: z.strictObject({ name: entryName, content: text(workspaceTextMaxChars) }) },
  folder: {
    query: z.strictObject({ path: z._default(text(keptLimits.pathMaxChars), '') }),
    response: shownFolderSchema,
  },
  fileRead: {},
  pictureRead: {},
  facts: { query: factsQuerySchema, response: factsSchema },
  factForget: { response: forgottenSchema },
  agentTools: {
    response: z.strictObject({
      tools: z.array(
        z.strictObject({
          name: z.string(),
          description: z.string(),
          /** `builtin`, `skill` (written by the agent), or `mcp:` and the name of a server. */
          source: z.string(),
        }),
      ),
    }),
  },
  agentLogs: {
    query: z.strictObject({ lines: count(keptLimits.logLinesMax, 200) }),
    /** Log lines, oldest first, as the agent reports them. */
    response: z.strictObject({ lines: z.array(z.string()).check(z.maxLength(keptLimits.logLinesMax)) }),
  },
  permissionOrigins: {
    response: z.strictObject({
      file: z.string(),
      /** Why everything is denied, with file and line; null while the file is valid. */
      broken: z.nullable(z.string()),
      /** False if the agent has no record: then everything is denied. */
      has_record: z.boolean(),
      fields: z.array(permissionOriginSchema),
    }),
  },
} as const satisfies Record<KeptEndpointName, EndpointSchemas>
