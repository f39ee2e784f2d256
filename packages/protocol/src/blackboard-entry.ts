import * as z from 'zod/mini'
import { jsonValueSchema } from './json-value.ts'
import { wireLimits } from './limits.ts'

/** 1 to 512 characters in segments joined by `/`; no empty, `.` or `..` segment, nothing invisible. */
export const blackboardKeySchema = z
  .string()
  .check(
    z.minLength(1),
    z.maxLength(wireLimits.blackboardKeyMaxChars),
    z.regex(
      /^(?!.*(?:^|\/)\.{0,2}(?:\/|$))[\p{L}\p{N}_.:@ /-]+$/u,
      'a key is segments of letters, digits and _ . : @ - joined by /',
    ),
  )

export const blackboardEntrySchema = z.strictObject({
  key: z.string(),
  value: jsonValueSchema,
  version: z.int(),
  written_by: z.string(),
  created_at: z.number(),
  updated_at: z.number(),
  expires_at: z.nullable(z.number()),
})
export type BlackboardEntry = z.infer<typeof blackboardEntrySchema>
