import { readFileSync } from 'node:fs'
import * as z from 'zod'

const callSchema = z.object({ what: z.string(), place: z.string(), body: z.record(z.string(), z.json()) })

/** Calls that would make a model's provider reach out for whoever writes them, by their apiFormat, and the place that does it. */
export const reachingCallsFile: URL = new URL('reaching-calls.json', import.meta.url)
export const reachingCalls = z
  .object({ chat: z.array(callSchema), messages: z.array(callSchema) })
  .parse(JSON.parse(readFileSync(reachingCallsFile, 'utf8')))
