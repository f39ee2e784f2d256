import type { AgentEdit } from '@flotilla/protocol/agent-edit'
import type { JsonValue } from '@flotilla/protocol/json-value'
import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import type { PermissionField } from '@flotilla/protocol/permission-record'

export type PermissionKind = 'list' | 'flag' | 'number' | 'rung'

/** The default of every field, which also shows the type of its values. */
const nothing = permissionRecordSchema.parse({})

export function isPermissionField(name: string): name is PermissionField {
  return Object.hasOwn(nothing, name)
}

/** Pure. */
export function permissionKind(field: PermissionField): PermissionKind {
  const value = nothing[field]
  if (typeof value === 'boolean') return 'flag'
  if (typeof value === 'number') return 'number'
  return typeof value === 'string' ? 'rung' : 'list'
}

/** Formats a value for a form field: lists one entry a line, flags as yes or no, null as `*` (all). Pure. */
export function permissionText(value: JsonValue): string {
  if (value === null) return '*'
  if (Array.isArray(value)) return value.map(entryText).join('\n')
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

const entryText = (entry: JsonValue): string => (typeof entry === 'string' ? entry : JSON.stringify(entry))

/** Parses the typed entries of a list, without duplicates. Pure. */
export function entriesOf(text: string): readonly string[] {
  const lines = text.split('\n').map((line) => line.trim())
  return [...new Set(lines.filter((line) => line !== ''))]
}

/** Returns the error in a text for this field; null if the text is valid. Pure. */
export function permissionFault(field: PermissionField, text: string): string | null {
  const parsed = permissionRecordSchema.safeParse({ [field]: valueOf(field, text) })
  return parsed.success
    ? null
    : (parsed.error.issues[0]?.message ?? 'This permission cannot have this value.')
}

/**
 * Returns the edit from `before` to `after`. For a list it only adds and removes entries, so an entry that another
 * person added stays. An agent without a record gets one. Other values are set only if `before` is current. Pure.
 */
export function permissionEdit(
  field: PermissionField,
  change: { readonly before: JsonValue; readonly after: string; readonly hasRecord: boolean },
): AgentEdit {
  const { before, after, hasRecord } = change
  const noChange = { set: {}, add: {}, remove: {} }
  if (permissionKind(field) !== 'list' || !hasRecord || !Array.isArray(before)) {
    const set = { [field]: valueOf(field, after) }
    const edit: AgentEdit = { field: 'permissions', value: { ...noChange, set }, reason: '' }
    // Without a record, `before` is the default of all agents and not a stored value, so the edit has no `seen`.
    return hasRecord ? { ...edit, seen: { [field]: before } } : edit
  }
  const [old, next] = [before.map(entryText), entriesOf(after)]
  const add = next.filter((entry) => !old.includes(entry))
  const remove = old.filter((entry) => !next.includes(entry))
  return {
    field: 'permissions',
    value: {
      ...noChange,
      ...(add.length > 0 ? { add: { [field]: add } } : {}),
      ...(remove.length > 0 ? { remove: { [field]: remove } } : {}),
    },
    reason: '',
  }
}

function valueOf(field: PermissionField, text: string): JsonValue {
  switch (permissionKind(field)) {
    case 'flag':
      return text === 'yes'
    case 'number':
      return text.trim() === '' ? null : Number(text)
    case 'rung':
      return text
    case 'list':
      return [...entriesOf(text)]
  }
}
