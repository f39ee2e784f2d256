import type { JsonObject } from '@flotilla/protocol/json-value'
import type { JournalRow } from './read-journal.ts'

/**
 * A row of the audit log as a CloudEvent 1.0 in JSON. `id` is the row's number, which is unique together with
 * `source` (the home); `sequence` is the standard's extension for order; `chainhash` is the row's hash. Pure.
 */
export function cloudEvent(row: JournalRow, homeId: string): JsonObject {
  return {
    specversion: '1.0',
    id: String(row.seq),
    source: `urn:flotilla:home:${homeId}`,
    type: `flotilla.journal.${row.action}`,
    ...(row.subject === '' ? {} : { subject: row.subject }),
    time: new Date(row.at).toISOString(),
    datacontenttype: 'application/json',
    actor: row.actor,
    sequence: String(row.seq).padStart(16, '0'),
    chainhash: row.hash,
    data: { actor: row.actor, action: row.action, subject: row.subject, detail: row.detail },
  }
}
