import { isJsonObject } from './is-json-object.ts'
import * as z from 'zod/mini'
import { browserActionNames, isBrowserAction } from './browser-actions.ts'
import { operatorAgentId } from './ids.ts'
import { isolationRungSchema } from './isolation.ts'

/** Bounds of one list of a record, wherever its entries come from: each decision compares with every entry. */
export const permissionListLimits = { entriesMax: 500, entryMaxChars: 200 } as const

/** The entries of one list, in a record and in an edit that adds or removes some. */
export const permissionEntriesSchema = z
  .array(z.string().check(z.minLength(1), z.maxLength(permissionListLimits.entryMaxChars)))
  .check(z.maxLength(permissionListLimits.entriesMax))
const names = z._default(permissionEntriesSchema, [])
const flag = z._default(z.boolean(), false)
/** A limit in US dollars, with fractions and not negative; 0 means that the fleet's limit applies. */
const usd = z._default(z.number().check(z.minimum(0), z.maximum(1_000_000)), 0)

const browserAction = z.string().check(
  z.refine((name) => name === '*' || isBrowserAction(name), {
    error: ({ input }) =>
      `the browser does not know ${String(input).slice(0, 60)}; it knows ${browserActionNames.join(', ')}, and * for all`,
  }),
)

/**
 * The fields of one agent's entry in `config/permissions.json`. An omitted field denies, except for the operator's
 * `controlPlaneFlags`.
 */
export const permissionFields = {
  can_message: names,
  can_publish: names,
  can_subscribe: names,
  blackboard_read: names,
  blackboard_write: names,
  allowed_apis: names,
  allowed_credentials: names,
  can_use_browser: flag,
  /** Null and `["*"]` allow every known action, an empty list allows none. */
  browser_actions: z._default(z.nullable(z.array(browserAction).check(z.maxLength(100))), null),
  can_manage_cron: flag,
  can_spawn: flag,
  can_use_wallet: flag,
  wallet_allowed_chains: names,
  wallet_spend_limit_per_tx_usd: usd,
  wallet_spend_limit_daily_usd: usd,
  wallet_rate_limit_per_hour: z._default(z.int().check(z.minimum(0), z.maximum(100_000)), 0),
  wallet_allowed_contracts: names,
  can_manage_fleet: flag,
  can_manage_projects: flag,
  can_edit_agent_config: flag,
  can_view_fleet_metrics: flag,
  can_route_tasks: flag,
  can_request_user_credentials: flag,
  /** The agent never runs at a lower isolation level, whatever the settings prefer. */
  required_isolation: z._default(isolationRungSchema, 'container'),
} as const

export const permissionRecordSchema = z.strictObject(permissionFields)
export type PermissionRecord = z.infer<typeof permissionRecordSchema>
export type PermissionField = keyof PermissionRecord

/** If omitted, these are true for the operator and false for a worker. */
export const controlPlaneFlags = [
  'can_manage_fleet',
  'can_manage_projects',
  'can_edit_agent_config',
  'can_view_fleet_metrics',
  'can_route_tasks',
  'can_request_user_credentials',
] as const satisfies readonly PermissionField[]

export type ControlPlaneFlag = (typeof controlPlaneFlags)[number]

/** The file on disk. A malformed entry breaks the whole file: everything is denied. */
export const permissionFileSchema = z.pipe(
  z.transform(withOperatorDefaults),
  z.strictObject({ permissions: z.record(z.string(), permissionRecordSchema) }),
)

/** Adds default flags to an existing entry of the operator. The schema reports input of an invalid form. */
function withOperatorDefaults(file: unknown): unknown {
  if (!isJsonObject(file) || !isJsonObject(file['permissions'])) return file
  const records = file['permissions']
  const own = Object.hasOwn(records, operatorAgentId) ? records[operatorAgentId] : undefined
  if (!isJsonObject(own)) return file
  const defaults = Object.fromEntries(controlPlaneFlags.map((flagName) => [flagName, true]))
  return { ...file, permissions: { ...records, [operatorAgentId]: { ...defaults, ...own } } }
}

export type PermissionFile = z.infer<typeof permissionFileSchema>
