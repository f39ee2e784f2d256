import * as z from 'zod/mini'

/** Anything JSON can say. */
export const jsonValueSchema = z.json()
export type JsonValue = z.infer<typeof jsonValueSchema>

export const jsonObjectSchema = z.record(z.string(), jsonValueSchema)
export type JsonObject = z.infer<typeof jsonObjectSchema>
