import * as z from 'zod/mini'

/**
 * Levels of arrays and objects in one value. Whoever walks a value walks it with its stack, and how deep that reaches
 * changes with the compiler: what was taken in deep could be a row that cannot be read after a restart.
 */
export const jsonDepthMax = 100

const anyJsonSchema = z.json()
export type JsonValue = z.infer<typeof anyJsonSchema>

/** Anything JSON can say, nested no deeper than `jsonDepthMax`. */
export const jsonValueSchema = z.pipe(
  z.custom<JsonValue>((value) => isShallow(value, jsonDepthMax), `nested deeper than ${jsonDepthMax} levels`),
  anyJsonSchema,
)

export const jsonObjectSchema = z.record(z.string(), jsonValueSchema)
export type JsonObject = z.infer<typeof jsonObjectSchema>

function isShallow(value: unknown, levelsLeft: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return levelsLeft > 0 && Object.values(value).every((inner) => isShallow(inner, levelsLeft - 1))
}
