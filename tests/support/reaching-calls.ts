import { readFileSync } from 'node:fs'
import * as z from 'zod'

const callSchema = z.object({ what: z.string(), place: z.string(), body: z.record(z.string(), z.json()) })

/** Model calls that would make a provider fetch an address for the caller, by apiFormat, and the field for it. */
export const reachingCallsFile: URL = new URL('reaching-calls.json', import.meta.url)
export const reachingCalls = z
  .object({ chat: z.array(callSchema), messages: z.array(callSchema) })
  .parse(JSON.parse(readFileSync(reachingCallsFile, 'utf8')))
