import * as z from 'zod/mini'
import { harnessNames } from './harness-variable.ts'

const word = z.string().check(z.minLength(1), z.maxLength(4096), z.regex(/^[^\0]*$/))

/**
 * The owner's setting: a known harness, or a program with its arguments that speaks the Agent Client Protocol on its
 * standard streams.
 */
export const harnessSchema = z.union([
  z.enum(harnessNames),
  z.strictObject({ command: z.array(word).check(z.minLength(1), z.maxLength(64)) }),
])
export type Harness = z.output<typeof harnessSchema>
