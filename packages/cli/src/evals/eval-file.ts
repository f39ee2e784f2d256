import { agentIdSchema } from '@flotilla/protocol/ids'
import { jsonObjectSchema } from '@flotilla/protocol/json-value'
import { parse } from 'yaml'
import * as z from 'zod'
import { CommandFailed } from '../command-failed.ts'
import { exitCodes } from '../exit-codes.ts'

/** Limits of a file of cases. */
export const evalBounds = {
  fileMaxChars: 1024 * 1024,
  casesMax: 500,
  aliasesMax: 50,
  concurrencyMax: 16,
  concurrencyDefault: 2,
  timeoutDefaultSeconds: 300,
} as const

const text = z.string().min(1).max(100_000)
const pattern = z
  .string()
  .min(1)
  .max(2000)
  .refine((source) => isPattern(source), 'not a regular expression')
const dollars = z.number().min(0.000001).max(10_000)

const checkSchema = z.union([
  z.strictObject({ equals: text }),
  z.strictObject({ contains: text }),
  z.strictObject({ lacks: text }),
  z.strictObject({ matches: pattern }),
  z.strictObject({
    artifact: z.strictObject({
      name: z.string().min(1).max(200),
      contains: text.optional(),
      matches: pattern.optional(),
    }),
  }),
  /** A shell command; it reads the case as JSON from its standard input, and passes with exit code 0. */
  z.strictObject({ program: z.string().min(1).max(10_000) }),
  /** A question about the answer for a model, which decides whether it passes. */
  z.strictObject({ judge: text }),
])
export type EvalCheck = z.output<typeof checkSchema>

const expectedCallSchema = z.union([
  z
    .string()
    .min(1)
    .max(200)
    .transform((tool) => ({ tool, arguments: {} })),
  z.strictObject({
    tool: z.string().min(1).max(200),
    arguments: z.optional(jsonObjectSchema).transform((given) => given ?? {}),
  }),
])
export type ExpectedCall = z.output<typeof expectedCallSchema>

const caseSchema = z.strictObject({
  name: z.string().min(1).max(100),
  ask: text,
  agent: z.optional(agentIdSchema),
  /** Files that are written below the agent's /data before the case, by path. */
  files: z.record(z.string().min(1).max(200), z.string().max(1_000_000)).default({}),
  /** Expected calls in this order; other calls may come between. */
  tools: z.array(expectedCallSchema).max(100).default([]),
  /** Tools that the agent must not call. */
  never: z.array(z.string().min(1).max(200)).max(100).default([]),
  checks: z.array(checkSchema).max(50).default([]),
  max_usd: dollars.optional(),
  timeout_seconds: z.number().int().min(1).max(86_400).default(evalBounds.timeoutDefaultSeconds),
})
export type EvalCase = z.output<typeof caseSchema> & { readonly agent: string }

const fileSchema = z.strictObject({
  name: z.string().min(1).max(100),
  agent: z.optional(agentIdSchema),
  /** The share of cases that must pass, from 0 to 1. */
  bar: z.number().min(0).max(1).default(1),
  /** Spending limit in US dollars for all cases and the judge together. */
  max_usd: dollars.optional(),
  concurrency: z.number().int().min(1).max(evalBounds.concurrencyMax).default(evalBounds.concurrencyDefault),
  /** An agent as judge, or a model that a scratch agent judges with. */
  judge: z
    .union([z.strictObject({ agent: agentIdSchema }), z.strictObject({ model: z.string().min(1).max(200) })])
    .optional(),
  cases: z.array(caseSchema).min(1).max(evalBounds.casesMax),
})

export interface EvalFile extends Omit<z.output<typeof fileSchema>, 'cases' | 'agent'> {
  readonly cases: readonly EvalCase[]
}

/** Parses an evaluation file; `agent` is for cases that name none. Throws `CommandFailed` with the field. Pure. */
export function readEvalFile(source: string, agent: string | undefined): EvalFile {
  if (source.length > evalBounds.fileMaxChars)
    throw wrong(`the file is longer than ${evalBounds.fileMaxChars} characters`)
  let content: unknown
  try {
    content = parse(source, { schema: 'core', uniqueKeys: true, maxAliasCount: evalBounds.aliasesMax })
  } catch (error) {
    throw wrong(error instanceof Error ? (error.message.split('\n')[0] ?? '') : 'the file is not YAML')
  }
  const parsed = fileSchema.safeParse(content)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw wrong(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not of the form'}`)
  }
  const { cases, ...file } = parsed.data
  const resolved = cases.map((one) => {
    const whom = agent ?? one.agent ?? file.agent
    if (whom === undefined) throw wrong(`case ${one.name} names no agent, and neither does the file`)
    return { ...one, agent: whom }
  })
  const names = cases.map(({ name }) => name)
  if (new Set(names).size !== names.length) throw wrong('two cases have the same name')
  if (cases.some(({ checks }) => checks.some((check) => 'judge' in check)) && file.judge === undefined)
    throw wrong(
      'a check needs a judge, but the file names none: judge: { model: ... } or judge: { agent: ... }',
    )
  return { ...file, cases: resolved }
}

function isPattern(source: string): boolean {
  try {
    return new RegExp(source, 'su') instanceof RegExp
  } catch {
    return false
  }
}

function wrong(reason: string): CommandFailed {
  return new CommandFailed('eval-file-broken', {
    detail: `The file of cases cannot be used: ${reason}.`,
    repair: 'flotilla eval --help shows a complete example.',
    exitCode: exitCodes.usage,
  })
}
