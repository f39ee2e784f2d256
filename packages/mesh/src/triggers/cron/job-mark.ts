import { createHash } from 'node:crypto'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { jsonObjectSchema } from '@flotilla/protocol/json-value'
import * as z from 'zod'
import { cronJobSchema } from './cron-job.ts'
import type { CronJob } from './cron-job.ts'

/** What a call writes down of a job before the file has it, lacks it, or has it otherwise. */
export const madeMarkSchema = z.strictObject({ id: z.string() })
export const changedMarkSchema = z.strictObject({ before: z.string(), after: z.string() })

/** All of a job that is about to be removed. Pure. */
export function markOf(job: CronJob): JsonObject {
  return jsonObjectSchema.parse(JSON.parse(JSON.stringify(job)))
}

/** The same for the same job, in whatever order its fields stand. Pure. */
export function digestOf(job: CronJob): string {
  const fields = Object.entries(cronJobSchema.parse(job)).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return createHash('sha256').update(JSON.stringify(fields)).digest('hex')
}
