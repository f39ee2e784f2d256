import type { PermissionChange } from '@flotilla/protocol/agent-edit'
import { permissionFields, permissionRecordSchema } from '@flotilla/protocol/permission-record'
import type { PermissionField, PermissionRecord } from '@flotilla/protocol/permission-record'
import { Problem } from '@flotilla/protocol/problem'

/** Values by field after the change, not yet validated: the operator's ceiling checks these. */
export type SubmittedFields = Readonly<Record<string, unknown>>

/** Computes each changed field from the current record. Names are not checked here. Pure. */
export function submittedFields(current: PermissionRecord, change: PermissionChange): SubmittedFields {
  const fields = new Map<string, unknown>(Object.entries(change.set))
  const listOf = (name: string): unknown => {
    if (fields.has(name)) return fields.get(name)
    return Object.hasOwn(current, name) ? Reflect.get(current, name) : undefined
  }
  const edit = (name: string, make: (list: readonly unknown[]) => unknown[]): void => {
    const list = listOf(name) ?? []
    // A field's value that is not a list stays unchanged, and the later validation rejects it.
    fields.set(name, Array.isArray(list) ? make(list) : list)
  }
  for (const [name, entries] of Object.entries(change.add)) {
    edit(name, (list) => [...new Set([...list, ...entries])])
  }
  for (const [name, entries] of Object.entries(change.remove)) {
    const removed = new Set<unknown>(entries)
    edit(name, (list) => list.filter((entry) => !removed.has(entry)))
  }
  for (const name of [...Object.keys(change.add), ...Object.keys(change.remove)]) {
    if (Object.hasOwn(permissionFields, name) && !Array.isArray(listOf(name))) {
      throw new Problem('bad-request', {
        detail: `the permission ${name} is not a list: set it as a whole with ${name}=VALUE`,
      })
    }
  }
  return Object.fromEntries(fields)
}

/**
 * The fields as the record holds them; those that were not submitted are left out. Problem `bad-request` with every
 * unknown name and wrong value. Pure.
 */
export function readFields(submitted: SubmittedFields): Partial<PermissionRecord> {
  const parsed = permissionRecordSchema.safeParse(submitted)
  if (!parsed.success) {
    const complaints = parsed.error.issues.slice(0, 5).map((issue) => {
      if (issue.code === 'unrecognized_keys') return `there is no permission ${issue.keys.join(', ')}`
      return `${issue.path.join('.') || 'permissions'}: ${issue.message}`
    })
    throw new Problem('bad-request', { detail: complaints.join('; ') })
  }
  // Parsing fills in omitted fields, and defaults that were not submitted would remove rights.
  return Object.fromEntries(Object.entries(parsed.data).filter(([name]) => Object.hasOwn(submitted, name)))
}

/** The named fields of a record, e.g. to be put back later. Pure. */
export function pickFields(record: PermissionRecord, names: readonly string[]): Partial<PermissionRecord> {
  return Object.fromEntries(Object.entries(record).filter(([name]) => names.includes(name)))
}

/** The record of an agent without permissions: it may do nothing. */
export const emptyRecord: PermissionRecord = permissionRecordSchema.parse({})

export function isPermissionField(name: string): name is PermissionField {
  return Object.hasOwn(permissionFields, name)
}
