import { canonicalJson } from '@flotilla/foundation/journal'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { jsonValueSchema } from '@flotilla/protocol/json-value'
import { operatorAgentId } from '@flotilla/protocol/ids'
import type { ControlPlaneFlag, PermissionRecord } from '@flotilla/protocol/permission-record'
import { isolationRungs } from '@flotilla/protocol/isolation'
import * as z from 'zod'
import type { Journal } from '@flotilla/foundation/journal'
import type { Log } from '@flotilla/foundation/platform'
import type { Database } from '@flotilla/foundation/storage'
import { emptyRecord } from './permission-change.ts'

export type PermissionRecordsByAgent = Readonly<Record<string, PermissionRecord>>

/**
 * Records grants in the audit log: compares the current records with the last recorded ones, field by field.
 * The last recorded ones are in the database, so that an edit made while the mesh was down is found too.
 */
export type JournalGrants = (
  records: PermissionRecordsByAgent,
  actor: string,
  /** Rights that the operator's entry omits, so that it has them by default. */
  leftOut?: readonly ControlPlaneFlag[],
) => void

/** Edits of the file by hand are recorded under this name. */
export const handActor = 'human:file'

const seenSchema = z.record(z.string(), z.record(z.string(), jsonValueSchema))
const unset: Readonly<Record<string, JsonValue>> = emptyRecord
/** Maximum length of a value in the audit log, characters; of a longer value the number of entries is recorded. */
const valueMaxChars = 1000

export function createJournalGrants(deps: {
  readonly database: Database
  readonly journal: Journal
  readonly log: Log
}): JournalGrants {
  const { database, journal, log } = deps
  let seen: string | null = null

  function append(actor: string, changes: readonly GrantChange[]): void {
    for (const { action, agentId, fields } of changes)
      journal.append({ actor, action, subject: agentId, detail: fields })
  }

  /** Records the changes. Returns true if it recorded the new defaults too, which happens once in a home's life. */
  function recordChanges(text: string, actor: string, leftOut: readonly ControlPlaneFlag[]): boolean {
    const row = database.prepare('SELECT records, defaults_told FROM permissions_seen WHERE id = 1').get()
    const before = seenSchema.parse(JSON.parse(row === undefined ? '{}' : String(row['records'])))
    const after = seenSchema.parse(JSON.parse(text))
    const isFirst = row?.['defaults_told'] !== 1
    // Earlier releases read omitted fields as false; the new default is not a manual edit.
    const byHand = isFirst ? withoutDefaults(before, after, leftOut) : after
    append(actor, grantChanges(before, byHand))
    append('system', grantChanges(byHand, after))
    database
      .prepare(
        'INSERT INTO permissions_seen (id, records, defaults_told) VALUES (1, ?, 1) ON CONFLICT (id) DO UPDATE SET records = excluded.records, defaults_told = 1',
      )
      .run(text)
    return isFirst
  }

  return (records, actor, leftOut = []) => {
    const text = canonicalJson(jsonValueSchema.parse(records))
    if (text === seen) return
    const loggedDefaults = database.transaction(() => recordChanges(text, actor, leftOut))
    seen = text
    if (!loggedDefaults || leftOut.length === 0) return
    log.warn(
      {
        flags: leftOut,
        repair: `flotilla permissions set ${operatorAgentId} ${leftOut.map((flag) => `${flag}=false`).join(' ')}`,
      },
      'the operator’s record omits control flags that are on by default',
    )
  }
}

/** The records as if the fields that the operator's entry omits were unchanged. Pure. */
function withoutDefaults(before: Records, after: Records, leftOut: readonly ControlPlaneFlag[]): Records {
  const own = after[operatorAgentId]
  if (own === undefined) return after
  const was = before[operatorAgentId] ?? {}
  const flags = Object.fromEntries(leftOut.map((flag) => [flag, was[flag] ?? false]))
  return { ...after, [operatorAgentId]: { ...own, ...flags } }
}

export interface GrantChange {
  readonly agentId: string
  readonly action: 'permission.granted' | 'permission.changed' | 'permission.revoked'
  /** For each changed field `{ from, to }`; for a new record the initial value. */
  readonly fields: JsonObject
}

type Records = Readonly<Record<string, Readonly<Record<string, JsonValue>>>>

/** The differences between two versions of the records, for the audit log. Pure. */
export function grantChanges(before: Records, after: Records): readonly GrantChange[] {
  const ids = new Set([...Object.keys(before), ...Object.keys(after)])
  const changes: GrantChange[] = []
  for (const agentId of [...ids].toSorted()) {
    const was = before[agentId]
    const is = after[agentId]
    if (!is) changes.push({ agentId, action: 'permission.revoked', fields: {} })
    else if (was) {
      const fields = changedFields(was, is)
      if (Object.keys(fields).length > 0) changes.push({ agentId, action: 'permission.changed', fields })
    } else {
      const given = Object.entries(is).filter(([, value]) => isGrant(value))
      const fields = Object.fromEntries(given.map(([field, value]) => [field, boundedValue(value)]))
      changes.push({ agentId, action: 'permission.granted', fields })
    }
  }
  return changes
}

function changedFields(
  was: Readonly<Record<string, JsonValue>>,
  is: Readonly<Record<string, JsonValue>>,
): JsonObject {
  const fields = [...new Set([...Object.keys(was), ...Object.keys(is)])].toSorted()
  return Object.fromEntries(
    fields
      .filter((field) => canonicalJson(valueIn(was, field)) !== canonicalJson(valueIn(is, field)))
      .map((field) => [
        field,
        { from: boundedValue(valueIn(was, field)), to: boundedValue(valueIn(is, field)) },
      ]),
  )
}

/** Returns a field's value; for a field that an earlier release did not know, its unset value. */
function valueIn(record: Readonly<Record<string, JsonValue>>, field: string): JsonValue {
  return record[field] ?? unset[field] ?? null
}

/** Whether a value allows or requires anything: not an empty list, false, null, 0 or the weakest isolation. */
export function isGrant(value: JsonValue): boolean {
  if (value === isolationRungs[0]) return false
  return Array.isArray(value) ? value.length > 0 : Boolean(value)
}

function boundedValue(value: JsonValue): JsonValue {
  if (canonicalJson(value).length <= valueMaxChars) return value
  return Array.isArray(value) ? `${value.length} entries` : '(a value that is too long to show)'
}
