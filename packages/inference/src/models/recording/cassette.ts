import { agentIdSchema } from '@flotilla/protocol/ids'
import { jsonObjectSchema } from '@flotilla/protocol/json-value'
import * as z from 'zod'

/**
 * A recorded or written conversation that the scripted provider plays; `cassettes/README.md` describes the format.
 * Tool calls are really executed, and their results are captured by `capture` and inserted for `{{name}}`.
 */

const pattern = z
  .string()
  .min(1)
  .max(2000)
  .superRefine((source, context) => {
    const failure = patternFailure(source)
    if (failure !== null) context.addIssue({ code: 'custom', message: failure })
  })

const capturePattern = pattern.refine(
  (source) => patternFailure(source) !== null || groupsIn(source) === 1,
  'a capture needs exactly one group ( )',
)

const variableName = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,63}$/, 'a name is a-z 0-9 _ and starts with a letter')

const turnSchema = z
  .strictObject({
    content: z.string().max(100_000).optional(),
    tool_calls: z
      .array(z.strictObject({ name: z.string().min(1).max(100), arguments: jsonObjectSchema }))
      .min(1)
      .max(32)
      .optional(),
    /** Regular expressions by variable name; applied to messages that are new since the previous turn. */
    capture: z.record(variableName, capturePattern).optional(),
    delay_ms: z.number().int().min(0).max(60_000).optional(),
  })
  .refine(
    (turn) => turn.content !== undefined || turn.tool_calls !== undefined,
    'a turn needs content or tool_calls',
  )
export type CassetteTurn = z.infer<typeof turnSchema>

const trackSchema = z.strictObject({
  agent_kind: z.enum(['operator', 'worker']).optional(),
  agents: z.array(agentIdSchema).min(1).optional(),
  /** A regular expression for the newest user message; if omitted, every message matches. */
  when: pattern.optional(),
  turns: z.array(turnSchema).min(1).max(1000),
})
export type CassetteTrack = z.infer<typeof trackSchema>

export const cassetteSchema = z.strictObject({
  version: z.literal(1),
  description: z.string().max(2000).default(''),
  tracks: z.array(trackSchema).max(1000),
})
export type Cassette = z.infer<typeof cassetteSchema>

/** The file name without `.json`; no slashes, so that the path stays in its folder. */
export const cassetteNamePattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/

/** Compiles a pattern. A dot also matches a line end, because tool results have many lines. */
export function cassetteRegExp(source: string): RegExp {
  return new RegExp(source, 's')
}

function patternFailure(source: string): string | null {
  try {
    cassetteRegExp(source)
    return null
  } catch (error) {
    return error instanceof Error ? error.message : 'not a regular expression'
  }
}

function groupsIn(source: string): number {
  return (cassetteRegExp(`${source}|`).exec('')?.length ?? 1) - 1
}
