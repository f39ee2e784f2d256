import * as z from 'zod/mini'
import { jsonObjectSchema } from './json-value.ts'

/** One tool call of an agent: its input, its output, and how it ended. */
export const toolOutputSchema = z.strictObject({
  step: z.int(),
  tool: z.string(),
  input: jsonObjectSchema,
  /** The text that the model read, sanitized and cut. */
  output: z.string(),
  ok: z.boolean(),
  duration_ms: z.number(),
})
export type ToolOutput = z.infer<typeof toolOutputSchema>

/** JSON Schema of a tool's parameters, as models expect it. */
export interface ToolDefinition {
  readonly name: string
  readonly description: string
  readonly parameters: {
    readonly type: 'object'
    readonly properties: Readonly<Record<string, unknown>>
    readonly required?: readonly string[]
    readonly additionalProperties?: boolean
  }
}
