import * as z from 'zod'

/** Part of `config/settings.json`: retention of the audit log, rows younger than this, and at most this many. */
export const journalRetentionSchema = z
  .strictObject({
    keep_days: z.number().int().min(1).max(36_500).default(365),
    max_rows: z.number().int().min(1000).max(100_000_000).default(1_000_000),
  })
  .prefault({})

/**
 * Part of `config/settings.json`: retention of traces, spans that ended within this many days, and at most this many;
 * 0 days keep none.
 */
export const traceRetentionSchema = z
  .strictObject({
    keep_days: z.number().int().min(0).max(365).default(7),
    max_rows: z.number().int().min(1000).max(10_000_000).default(200_000),
  })
  .prefault({})

/** How long rows are kept, and how many; the smaller of both decides. */
export type Retention = z.output<typeof journalRetentionSchema>
