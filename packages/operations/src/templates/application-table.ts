import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import * as z from 'zod'
import { agentSettingsSchema } from '@flotilla/foundation/config'
import { jsonColumn } from '@flotilla/foundation/storage'
import type { Database } from '@flotilla/foundation/storage'
import { cronJobSchema } from '@flotilla/inbound/triggers/cron'
import { watchersEditSchema } from '@flotilla/inbound/triggers/watch'

/** The content of files before an application, and what the application wrote; null if a file had no such entry. */
const undoSchema = z.strictObject({
  /** Permission records by agent. */
  permissions: z.record(
    z.string(),
    z.strictObject({
      before: z.nullable(permissionRecordSchema),
      after: permissionRecordSchema,
    }),
  ),
  /** Jobs by id, including heartbeats. */
  jobs: z.record(z.string(), z.strictObject({ before: z.nullable(cronJobSchema), after: cronJobSchema })),
  /** Settings by agent, only the fields that were written. Rows of earlier releases have no settings. */
  settings: z
    .record(z.string(), z.strictObject({ before: agentSettingsSchema, after: agentSettingsSchema }))
    .default({}),
  /** The edit of `config/watchers.yaml`. Rows of earlier releases have none. */
  watchers: z.nullable(watchersEditSchema).default(null),
})
export type ApplicationUndo = z.output<typeof undoSchema>

/**
 * Unfinished applications. The row is written before the first file changes and deleted in the transaction that
 * writes everything else. A remaining row means that the files must be restored.
 */
export interface ApplicationTable {
  begin(application: { readonly id: string; readonly at: number; readonly undo: ApplicationUndo }): void
  end(id: string): void
  open(): readonly { readonly id: string; readonly undo: ApplicationUndo }[]
}

const rowSchema = z.object({ id: z.string(), undo: jsonColumn(undoSchema) })

export function createApplicationTable(database: Database): ApplicationTable {
  return {
    begin: ({ id, at, undo }) => {
      database
        .prepare('INSERT INTO template_applications (id, begun_at, undo) VALUES (?, ?, ?)')
        .run(id, at, JSON.stringify(undo))
    },
    end: (id) => {
      database.prepare('DELETE FROM template_applications WHERE id = ?').run(id)
    },
    open: () =>
      database
        .prepare('SELECT id, undo FROM template_applications ORDER BY begun_at, id')
        .all()
        .map((row) => rowSchema.parse(row)),
  }
}
