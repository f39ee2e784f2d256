import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { jsonObjectSchema } from './json-value.ts'

/** The agent's API for the skills that it writes. */
export const skillEndpoints = {
  skillCheck: {
    method: 'POST',
    path: '/mesh/skills/check',
    summary: 'Check the source of a skill and return its description and its JavaScript.',
  },
} as const satisfies Record<string, Endpoint>

/** Far above the limit, so that the check itself reports a source that is too long. */
const sourceSentMaxChars = 100_000

export const skillApi = {
  skillCheck: {
    request: z.strictObject({ source: z.string().check(z.maxLength(sourceSentMaxChars)) }),
    response: z.strictObject({
      name: z.string(),
      description: z.string(),
      /** Properties of a JSON Schema object, by parameter. */
      parameters: jsonObjectSchema,
      /** The source without its types. */
      code: z.string(),
    }),
  },
} as const satisfies Record<keyof typeof skillEndpoints, EndpointSchemas>

/** `faults` of a rejected source: every error in it; lines and columns from 1. */
export const skillFaultsSchema = z.array(
  z.object({ line: z.number(), column: z.number(), rule: z.string(), message: z.string() }),
)
