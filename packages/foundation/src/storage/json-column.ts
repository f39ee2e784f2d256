import * as z from 'zod'

/** A text column that holds JSON of one form. A row that holds anything else does not parse. */
export function jsonColumn<Schema extends z.core.$ZodType>(schema: Schema) {
  return z
    .string()
    .transform((text, context): unknown => {
      try {
        return JSON.parse(text)
      } catch {
        context.issues.push({ code: 'custom', message: 'not JSON', input: text })
        return z.NEVER
      }
    })
    .pipe(schema)
}
