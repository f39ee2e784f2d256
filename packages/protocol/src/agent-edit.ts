import * as z from 'zod/mini'
import { agentIdSchema, idSchema } from './ids.ts'
import { jsonObjectSchema, jsonValueSchema } from './json-value.ts'
import { limits } from './limits.ts'
import { mcpNameFault, mcpServersMax, mcpServersSchema } from './mcp-servers.ts'
import { originSchema } from './origin.ts'
import { permissionEntriesSchema, permissionRecordSchema } from './permission-record.ts'
import { editableFiles } from './workspace-file.ts'

/** Maximum length of the texts of one edit, in characters. */
const fileMaxChars = 100_000
/** The maximum length of the reason that a caller states for an edit, in characters. */
const reasonMaxChars = 500

/** How long a change can be undone, in milliseconds, by the kind of field. */
export const undoWindowsMs = { text: 5 * 60_000, setting: 30 * 60_000 } as const

export function undoWindowMs(field: string): number {
  return field === 'model' || field === 'permissions' || field === 'budget' || field === 'mcpServers'
    ? undoWindowsMs.setting
    : undoWindowsMs.text
}

/** Permission entries are not parsed here, so that invalid ones are rejected by name and not dropped. */
const submitted = z.record(z.string(), jsonValueSchema)
const entries = z.record(z.string(), permissionEntriesSchema)
export const permissionChangeSchema = z.strictObject({
  /** The whole new value of each field. */
  set: z._default(submitted, {}),
  /** Entries to add to or remove from a list; concurrent edits of this kind do not overwrite each other. */
  add: z._default(entries, {}),
  remove: z._default(entries, {}),
})
export type PermissionChange = z.infer<typeof permissionChangeSchema>

const reason = z._default(z.string().check(z.maxLength(reasonMaxChars)), '')

/**
 * The value that the editor saw, in the form of the `before` of a change. If the field has another value by now, the
 * edit is rejected with `edit-overtaken`. Without it, the edit replaces any value.
 */
const seen = z.optional(jsonValueSchema)

/** One edit of an agent. It applies immediately; the reply says how long it can be undone. */
export const agentEditSchema = z.discriminatedUnion('field', [
  z.strictObject({
    field: z.literal('role'),
    value: z.string().check(z.minLength(1), z.maxLength(500)),
    reason,
    seen,
  }),
  z.strictObject({
    field: z.literal('model'),
    /** Null makes the agent follow the fleet's default. */
    value: z.nullable(z.string().check(z.minLength(1), z.maxLength(200))),
    reason,
    seen,
  }),
  z.strictObject({
    field: z.literal('budget'),
    /** An omitted period keeps its limit. */
    value: z.strictObject({
      daily_usd: z.optional(
        z.number().check(z.minimum(limits.budgetDailyUsd.min), z.maximum(limits.budgetDailyUsd.max)),
      ),
      monthly_usd: z.optional(
        z.number().check(z.minimum(limits.budgetMonthlyUsd.min), z.maximum(limits.budgetMonthlyUsd.max)),
      ),
    }),
    reason,
    seen,
  }),
  z.strictObject({ field: z.literal('permissions'), value: permissionChangeSchema, reason, seen }),
  z.strictObject({
    field: z.literal('mcpServers'),
    /** Servers by name, so that concurrent edits do not overwrite each other. Omitted servers stay unchanged. */
    value: z.strictObject({
      set: z._default(mcpServersSchema, {}),
      remove: z._default(
        z
          .array(
            z
              .string()
              .check(z.refine((name) => mcpNameFault(name) === null, 'this is not a valid name of a server')),
          )
          .check(z.maxLength(mcpServersMax)),
        [],
      ),
    }),
    reason,
    seen,
  }),
  z.strictObject({
    field: z.enum(editableFiles),
    value: z.string().check(z.maxLength(fileMaxChars)),
    reason,
    seen,
  }),
])
export type AgentEdit = z.infer<typeof agentEditSchema>

export const changeStates = ['applying', 'applied', 'undone', 'failed'] as const

/** A change that was made, or tried. Long texts are cut in lists. Times are milliseconds since 1970. */
export const changeViewSchema = z.strictObject({
  undo_token: idSchema('change'),
  agent_id: agentIdSchema,
  field: z.string(),
  before: jsonValueSchema,
  after: jsonValueSchema,
  actor: z.string(),
  reason: z.string(),
  state: z.enum(changeStates),
  applied_at: z.number(),
  /** The time until which the change can be undone, once. */
  expires_at: z.number(),
  undone_by: z.nullable(z.string()),
  /** `now`, or `next-run` for fields that the sandbox reads at its start only, such as model and role. */
  takes_effect: z.enum(['now', 'next-run']),
})
export type ChangeView = z.infer<typeof changeViewSchema>

export const approvalStates = ['pending', 'confirmed', 'done', 'failed', 'cancelled', 'expired'] as const
export type ApprovalState = (typeof approvalStates)[number]

/** An action that waits for a person's decision, or waited for one. */
export const approvalViewSchema = z.strictObject({
  id: idSchema('appr'),
  kind: z.string(),
  /** The object of the action, such as an agent's id. */
  subject: z.string(),
  summary: z.string(),
  /** The effects of the approval as of now, one sentence each. */
  consequences: z.array(z.string()),
  /** What is currently known about the action's cost, one sentence each. */
  costs: z.array(z.string()),
  /** The exact arguments of the requested action. */
  args: jsonObjectSchema,
  /** SHA-256 of kind and args in canonical JSON; a confirmation names it. */
  digest: z.string(),
  asked_by: z.string(),
  origin: originSchema,
  run_id: z.nullable(z.string()),
  state: z.enum(approvalStates),
  created_at: z.number(),
  expires_at: z.number(),
  resolved_at: z.nullable(z.number()),
  resolved_by: z.nullable(z.string()),
  detail: z.string(),
  /** Only in the reply to a request: true if the same caller's equal request was already waiting for approval. */
  joined: z.optional(z.boolean()),
})
export type ApprovalView = z.infer<typeof approvalViewSchema>

/** The configuration of an agent, as people and the operator read it. */
export const agentConfigSchema = z.strictObject({
  id: agentIdSchema,
  kind: z.enum(['operator', 'worker']),
  role: z.string(),
  /** Null if the agent uses the fleet's default. */
  model: z.nullable(z.string()),
  /** The project whose budget the agent's calls are charged to in addition to its own; null for none. */
  project: z.nullable(z.string()),
  budget: z.strictObject({ daily_usd: z.number(), monthly_usd: z.number() }),
  /** Null if the agent has no record: everything is denied. Absent for callers who are not owners. */
  permissions: z.optional(z.nullable(permissionRecordSchema)),
  /** Credential handles are not replaced by their values. Absent for callers who are not owners. */
  mcpServers: z.optional(mcpServersSchema),
  created_at: z.number(),
})
export type AgentConfig = z.infer<typeof agentConfigSchema>
