import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'

/** The kinds of calls that the Agent Client Protocol names. */
export const harnessCallKinds = [
  'read',
  'edit',
  'delete',
  'move',
  'search',
  'execute',
  'think',
  'fetch',
  'switch_mode',
  'other',
] as const
export type HarnessCallKind = (typeof harnessCallKinds)[number]

/** The kind of approval of a call that a harness asks for. */
export const harnessApprovalKind = 'harness-call'

/** Longest text about the call that a harness asks for, in characters. */
export const harnessSubjectMaxChars = 500

/** Longest input of that call as the harness names it, as JSON, in characters. */
export const harnessInputMaxChars = 2000

/** The most tokens of one turn that a harness may report; a report of more is not counted. */
export const reportedTokensMax = 1_000_000_000

/** The name of the model in costs for tokens that a harness reports beyond the run’s calls through the mesh. */
export const reportedModel = 'reported by the harness, unpriced'

/** The name by which people, policies and records know a call of a harness. Pure. */
export function harnessCallName(kind: HarnessCallKind): `harness_${HarnessCallKind}` {
  return `harness_${kind}`
}

/** The agent API's endpoints for agents that a harness drives. */
export const harnessEndpoints = {
  permit: {
    method: 'POST',
    path: '/mesh/harness/permission',
    summary: 'Return whether the harness of the calling agent may make a call in its container.',
  },
  reportTokens: {
    method: 'POST',
    path: '/mesh/harness/tokens',
    summary: 'Count reported tokens of a turn beyond those of the run’s calls through the mesh.',
  },
} as const satisfies Record<string, Endpoint>

const tokens = z.int().check(z.minimum(0), z.maximum(reportedTokensMax))
/** All tokens of a turn, those of prompts that a provider read from its cache included. */
const reportedTokensSchema = z.strictObject({ prompt_tokens: tokens, completion_tokens: tokens })
export type ReportedTokens = Readonly<z.infer<typeof reportedTokensSchema>>

export const harnessApi = {
  permit: {
    request: z.strictObject({
      /** Null if the harness names none: the strictest rule about any kind decides. */
      kind: z.nullable(z.enum(harnessCallKinds)),
      /** What the harness says about the call. */
      subject: z.string().check(z.maxLength(harnessSubjectMaxChars)),
      /** The input as JSON, cut; empty if the harness names none. */
      input: z._default(z.string().check(z.maxLength(harnessInputMaxChars)), ''),
      /** True if the harness states more than `subject` and `input` show. */
      is_cut: z._default(z.boolean(), false),
      /** SHA-256 of everything that the harness states about the call, in hex; equal calls have equal ones. */
      sha256: z._default(z.string().check(z.regex(/^(?:[0-9a-f]{64})?$/, 'a digest is 64 hex digits')), ''),
    }),
    response: z.strictObject({
      allowed: z.boolean(),
      /** True while a person may still answer: the agent keeps the call open and sends the same request again. */
      waits: z.boolean(),
      reason: z.string(),
    }),
  },
  reportTokens: {
    request: reportedTokensSchema,
    response: z.strictObject({
      /** The tokens that were added to the run. */
      counted: z.int(),
    }),
  },
} satisfies Record<keyof typeof harnessEndpoints, EndpointSchemas>
