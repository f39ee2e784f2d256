import * as z from 'zod/mini'

const word = z.string().check(z.minLength(1), z.maxLength(4096), z.regex(/^[^\0]*$/))

/** The owner's setting: the program, with its arguments, that speaks the Agent Client Protocol on its standard streams. */
export const harnessSchema = z.strictObject({
  command: z.array(word).check(z.minLength(1), z.maxLength(64)),
})
export type Harness = z.output<typeof harnessSchema>
