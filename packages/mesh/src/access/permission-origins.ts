import { controlPlaneFlags } from '@flotilla/protocol/permission-record'
import type { PermissionField, PermissionRecord } from '@flotilla/protocol/permission-record'
import type { PermissionOrigin } from '@flotilla/protocol/kept-api'
import { canonicalJson } from '../journal/index.ts'
import { operatorDefaultRecord, workerDefaultRecord } from './default-records.ts'
import { isGrant } from './journal-grants.ts'
import { isPermissionField } from './permission-change.ts'

/** A row of the journal that tells what an agent was granted. */
export interface GrantRow {
  readonly action: string
  readonly actor: string
  readonly at: number
  readonly detail: Readonly<Record<string, unknown>>
}

/**
 * Each field of a record, whether it gives anything, and who set it as it stands. `rows` are the journal's on this agent,
 * oldest first. Pure.
 */
export function permissionOrigins(
  record: PermissionRecord,
  of: {
    readonly kind: 'operator' | 'worker'
    readonly rows: readonly GrantRow[]
    /** Line of the file; null where it leaves the field out. */
    readonly lineOf: (field: PermissionField) => number | null
  },
): readonly PermissionOrigin[] {
  const setters = lastSetters(of.rows)
  const defaults = of.kind === 'operator' ? operatorDefaultRecord : workerDefaultRecord
  return Object.entries(record).flatMap(([field, value]) => {
    if (!isPermissionField(field)) return []
    const setter = setters.get(field) ?? null
    const line = of.lineOf(field)
    const isLeftOut = line === null && controlPlaneFlags.some((flag) => flag === field)
    const isDefault =
      isLeftOut || (setter?.actor === 'system' && canonicalJson(value) === canonicalJson(defaults[field]))
    const from = !isGrant(value) ? 'none' : isDefault ? 'default' : 'grant'
    // What was never given was set by nobody; what was taken away was.
    const told = from === 'none' && setter?.first === true ? null : setter
    return [{ field, value, from, by: told?.actor ?? null, at: told?.at ?? null, line } as const]
  })
}

interface Setter {
  readonly actor: string
  readonly at: number
  /** By the first row of the record, which names only what it gives. */
  readonly first: boolean
}

function lastSetters(rows: readonly GrantRow[]): ReadonlyMap<string, Setter> {
  const setters = new Map<string, Setter>()
  for (const { action, actor, at, detail } of rows) {
    if (action === 'permission.revoked') setters.clear()
    const first = action === 'permission.granted'
    for (const field of Object.keys(detail)) setters.set(field, { actor, at, first })
  }
  return setters
}
