import { controlPlaneFlags } from '@flotilla/protocol/permission-record'
import type { PermissionField, PermissionRecord } from '@flotilla/protocol/permission-record'
import { withinParent, workerDefaultRecord } from '@flotilla/identity/access'

interface RequestedRecord {
  readonly parent: PermissionRecord
  readonly fields: Partial<PermissionRecord>
  readonly maySpawn: boolean
}

/** Permissions that would outlive the agent or affect others: jobs, the wallet, control of the fleet. */
const neverHeld = [...controlPlaneFlags, 'can_manage_cron', 'can_use_wallet'] as const

/**
 * Returns the permission record of a spawned agent: a worker's defaults plus the requested fields, limited to what
 * its parent may do, without permissions that would outlive it. Pure.
 */
export function childRecord({ parent, fields, maySpawn }: RequestedRecord): PermissionRecord {
  const requested: PermissionRecord = { ...workerDefaultRecord, ...fields }
  return {
    ...withinParent(requested, parent),
    ...Object.fromEntries(neverHeld.map((flag) => [flag, false])),
    ...(maySpawn ? {} : { can_spawn: false }),
  }
}

/** The maximum length of the reason why a spawned agent lacks a permission, in characters. */
const whyMaxChars = 300

/** Returns the requested fields that the record does not fully grant, with reasons for the requesting agent. Pure. */
export function withheldFields(
  { fields, maySpawn }: Pick<RequestedRecord, 'fields' | 'maySpawn'>,
  record: PermissionRecord,
): { readonly field: string; readonly why: string }[] {
  return Object.keys(fields).flatMap((name) => {
    const field = name as PermissionField // `readFields` has verified that it is one of them.
    const has = record[field]
    if (JSON.stringify(has) === JSON.stringify(fields[field])) return []
    return { field, why: whyWithheld(field, has, maySpawn).slice(0, whyMaxChars) }
  })
}

function whyWithheld(field: PermissionField, has: unknown, maySpawn: boolean): string {
  if (neverHeld.some((flag) => flag === field)) return 'a spawned agent never has this permission'
  if (field === 'can_spawn' && !maySpawn) return 'agents at this depth may not spawn further agents'
  if (Array.isArray(has) && has.length > 0) return `your own permission lists only ${has.join(', ')}`
  return typeof has === 'number' ? `your own limit is ${has}` : 'you do not have this permission'
}
