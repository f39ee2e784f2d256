import { controlPlaneFlags } from '@flotilla/protocol/permission-record'
import type { PermissionField, PermissionRecord } from '@flotilla/protocol/permission-record'
import type { PermissionOrigin } from '@flotilla/protocol/kept-api'
import { canonicalJson } from '@flotilla/foundation/journal'
import { operatorDefaultRecord, workerDefaultRecord } from './default-records.ts'
import { handActor, isGrant } from './journal-grants.ts'
import { isPermissionField } from './permission-change.ts'

/** A row of the audit log about a grant to an agent. */
export interface GrantRow {
  readonly action: string
  readonly actor: string
  readonly at: number
  readonly detail: Readonly<Record<string, unknown>>
}

/**
 * Each field of a record, whether it grants anything, and who set its current value. `rows` are the audit
 * log's rows on this agent, oldest first. Pure.
 */
export function permissionOrigins(
  record: PermissionRecord,
  of: {
    readonly kind: 'operator' | 'worker'
    readonly rows: readonly GrantRow[]
    /** Line in the file; null if the file omits the field. */
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
    // A new record holds the defaults, for each maker of the agent; a person who writes a record by hand chose each value.
    const isUnchosen = setter?.actor === 'system' || (setter?.first === true && setter.actor !== handActor)
    const isDefault = isLeftOut || (isUnchosen && canonicalJson(value) === canonicalJson(defaults[field]))
    const from = !isGrant(value) ? 'none' : isDefault ? 'default' : 'grant'
    // A field that was never granted has no setter; a field whose right was withdrawn has one.
    const shownSetter = from === 'none' && setter?.first === true ? null : setter
    return [
      { field, value, from, by: shownSetter?.actor ?? null, at: shownSetter?.at ?? null, line } as const,
    ]
  })
}

interface Setter {
  readonly actor: string
  readonly at: number
  /** True for the first row of the record, which lists only granted rights. */
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
