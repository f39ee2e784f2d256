import { createHash } from 'node:crypto'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { jsonObjectSchema } from '@flotilla/protocol/json-value'
import * as z from 'zod'
import { cronJobSchema } from './cron-job.ts'
import type { CronJob } from './cron-job.ts'

/** The data about a job that a call stores before it writes the file, so that the call can be resumed. */
export const madeMarkSchema = z.strictObject({ id: z.string() })
export const changedMarkSchema = z.strictObject({ before: z.string(), after: z.string() })

/** Returns the full definition of a job that will be removed. Pure. */
export function markOf(job: CronJob): JsonObject {
  return jsonObjectSchema.parse(JSON.parse(JSON.stringify(job)))
}

/** Returns a digest of the job that does not depend on the order of its fields. Pure. */
export function digestOf(job: CronJob): string {
  const fields = Object.entries(cronJobSchema.parse(job)).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return createHash('sha256').update(JSON.stringify(fields)).digest('hex')
}
