import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { agentIdSchema } from './ids.ts'
import { jsonValueSchema } from './json-value.ts'
import { memoryLimits, workspaceTextMaxChars } from './limits.ts'

/** The people's API: what an agent keeps, takes and says, and where its permissions come from. */
export const keptEndpoints = {
  fleetUse: {
    method: 'GET',
    path: '/api/use',
    summary: 'Memory, processor and context of each agent as they are now',
  },
  identityFiles: {
    method: 'GET',
    path: '/api/agents/{id}/workspace',
    summary: 'The files that make an agent what it is, with their caps',
  },
  identityFile: {
    method: 'GET',
    path: '/api/agents/{id}/workspace/{file}',
    summary: 'The text of one of them',
  },
  folder: { method: 'GET', path: '/api/agents/{id}/files', summary: 'One folder below /data of an agent' },
  fileRead: {
    method: 'GET',
    path: '/api/agents/{id}/files/{*path}',
    summary: 'The bytes of a file below /data of an agent',
  },
  pictureRead: {
    method: 'GET',
    path: '/api/agents/{id}/pictures/{sha256}',
    summary: 'A picture that an agent looked at, while it keeps it',
  },
  facts: {
    method: 'GET',
    path: '/api/agents/{id}/memory',
    summary: 'What an agent remembers, newest first, with where it comes from',
  },
  factForget: {
    method: 'DELETE',
    path: '/api/agents/{id}/memory/{fact}',
    summary: 'Takes one fact out of the memory of an agent',
  },
  agentTools: {
    method: 'GET',
    path: '/api/agents/{id}/tools',
    summary: 'The tools of an agent, its skills among them',
  },
  agentLogs: {
    method: 'GET',
    path: '/api/agents/{id}/logs',
    summary: 'The last lines that the process of an agent printed',
  },
  permissionOrigins: {
    method: 'GET',
    path: '/api/agents/{id}/permissions',
    summary: 'Each permission of an agent, and who gave it when',
  },
} as const satisfies Record<string, Endpoint>

export type KeptEndpointName = keyof typeof keptEndpoints

export const keptLimits = {
  /** Of a name of a file or folder. */
  nameMaxChars: 255,
  /** Of a path below /data. */
  pathMaxChars: 1000,
  /** Entries of one folder that an answer holds. */
  folderEntriesMax: 500,
  /** Of one file that is read through the mesh, bytes: it is held while it passes. */
  fileReadMaxBytes: 8 * 1024 * 1024,
  /** Facts of one answer. */
  factsMax: 100,
  factSearchMaxChars: 200,
  /** Lines of one answer. */
  logLinesMax: 1000,
} as const

const count = (max: number, preset: number) =>
  z._default(z.coerce.number().check(z.minimum(1), z.maximum(max), z.multipleOf(1)), preset)

const text = (maxChars: number) => z.string().check(z.maxLength(maxChars))
const atLeastNone = z.int().check(z.minimum(0))
const entryName = text(keptLimits.nameMaxChars)

export const identityFileSchema = z.strictObject({
  name: entryName,
  /** Characters. */
  size: atLeastNone,
  /** Characters that it may have; null without a cap. */
  cap: z.nullable(atLeastNone),
  /** It still has its default content. */
  is_default: z.boolean(),
  /** Written by the mesh alone. */
  read_only: z.boolean(),
})
export type IdentityFile = z.infer<typeof identityFileSchema>

export const folderEntrySchema = z.strictObject({
  /** Below the folder that was asked for, as it is: what the entry is addressed by. */
  name: entryName,
  kind: z.enum(['file', 'directory', 'link', 'other']),
  size_bytes: atLeastNone,
})

const folder = {
  path: text(keptLimits.pathMaxChars),
  /** Whether there are more than are listed. */
  more: z.boolean(),
}
const entries = <Entry extends z.core.$ZodType>(entry: Entry) =>
  z.array(entry).check(z.maxLength(keptLimits.folderEntriesMax))

/** As the agent says it. */
export const folderSchema = z.strictObject({ ...folder, entries: entries(folderEntrySchema) })

/** As people see it: `shown` is the name in one line, without what cannot be seen; two may be shown alike. */
export const shownEntrySchema = z.strictObject({ ...folderEntrySchema.shape, shown: entryName })
export type ShownEntry = z.infer<typeof shownEntrySchema>
export const shownFolderSchema = z.strictObject({ ...folder, entries: entries(shownEntrySchema) })

/** The name of a fact, as the agent's own tools show it. */
export const factNameSchema = z.string().check(z.regex(/^fact_\d{1,15}$/, 'a fact is named like fact_12'))

/** The trust in a fact: that of the least trusted text that its author had read. */
export const factTrusts = ['owner', 'self', 'agent', 'outside'] as const

const sourceWord = text(memoryLimits.sourceWordMaxChars)

/** All of it is an agent's word. Times are milliseconds since 1970. */
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
  /** Words that a fact has; left out for all of them. */
  words: z._default(z.string().check(z.maxLength(keptLimits.factSearchMaxChars)), ''),
  /** Only those that are older than this one. */
  before: z.optional(factNameSchema),
  limit: count(keptLimits.factsMax, 50),
})

export const factsSchema = z.strictObject({
  facts: z.array(factSchema).check(z.maxLength(keptLimits.factsMax)),
  /** Of the whole memory. */
  total: atLeastNone,
  /** Whether there are older ones that fit. */
  more: z.boolean(),
})

/** `was_there` false for one that was forgotten before. */
export const forgottenSchema = z.strictObject({ id: factNameSchema, was_there: z.boolean() })

export const agentUseSchema = z.strictObject({
  agent_id: agentIdSchema,
  /** What it works on now. */
  run_id: z.nullable(z.string()),
  /** Null while it does not run. */
  memory_bytes: z.nullable(z.number()),
  /** Null where nothing bounds it. */
  memory_limit_bytes: z.nullable(z.number()),
  /** Load of one processor since the previous measurement; null without one. */
  cpu_percent: z.nullable(z.number()),
  /** Of its last model call, with the answer; null before the first since the mesh was started. */
  context_tokens: z.nullable(z.number()),
  /** The context window of its model in tokens; null if unknown. */
  context_window: z.nullable(z.number()),
})
export type AgentUse = z.infer<typeof agentUseSchema>

export const permissionOriginSchema = z.strictObject({
  field: z.string(),
  value: jsonValueSchema,
  /** `none` gives nothing, `default` is what every new agent of its kind gets, `grant` was given to this one. */
  from: z.enum(['none', 'default', 'grant']),
  /** The actor who set the current value, from the audit log; null if the log does not contain it. */
  by: z.nullable(z.string()),
  at: z.nullable(z.number()),
  /** Line of the file, from 1; null where the file leaves the field out. */
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
          /** `builtin`, `skill` (of the agent's own making), or `mcp:` and the name of a server. */
          source: z.string(),
        }),
      ),
    }),
  },
  agentLogs: {
    query: z.strictObject({ lines: count(keptLimits.logLinesMax, 200) }),
    /** Oldest first; an agent's word. */
    response: z.strictObject({ lines: z.array(z.string()).check(z.maxLength(keptLimits.logLinesMax)) }),
  },
  permissionOrigins: {
    response: z.strictObject({
      file: z.string(),
      /** Why everything is denied, with file and line; null while the file is whole. */
      broken: z.nullable(z.string()),
      /** False where the agent has no record: then everything is denied. */
      has_record: z.boolean(),
      fields: z.array(permissionOriginSchema),
    }),
  },
} as const satisfies Record<KeptEndpointName, EndpointSchemas>
