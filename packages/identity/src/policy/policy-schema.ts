import { originKinds, peopleChannels } from '@flotilla/protocol/origin'
import { formatIssue, hostPattern } from '@flotilla/foundation/config'
import * as z from 'zod'
import { compileWordPattern } from '../access/index.ts'
import { conditionMaxChars } from './condition.ts'
import { policedTools, verdicts } from './effect.ts'
import { presetNames } from './preset-names.ts'

/** Limits of config/policy.yaml. */
export const policyLimits = {
  /** The maximum number of rules, with those of presets. */
  rulesMax: 1000,
  casesMax: 500,
  /** The maximum number of values of one field of a match. */
  valuesMax: 50,
  patternMaxChars: 300,
  reasonMaxChars: 300,
} as const

const pattern = z.string().min(1).max(policyLimits.patternMaxChars)
/** One value, or a list of which one must match. */
function oneOrMore<T extends z.ZodType<string>>(value: T) {
  return z
    .union([value, z.array(value).min(1).max(policyLimits.valuesMax)])
    .transform((given): readonly z.output<T>[] => (Array.isArray(given) ? given : [given]))
}
const patterns = oneOrMore(pattern)
/** A rule about another tool would never match, which its author could not see. */
const toolPattern = pattern.refine((text) => policedTools.some(compileWordPattern(text)), {
  message: `names no tool whose effects the policy decides; these are ${policedTools.join(', ')}`,
})
const path = pattern.refine((text) => text.startsWith('/') || text.startsWith('*'), {
  message: 'a path begins with / or *',
})

export const matchSchema = z
  .strictObject({
    agent: patterns.optional(),
    project: patterns.optional(),
    tool: oneOrMore(toolPattern).optional(),
    method: patterns.optional(),
    host: oneOrMore(hostPattern).optional(),
    path: oneOrMore(path).optional(),
    mcp_server: patterns.optional(),
    mcp_tool: patterns.optional(),
    credential: patterns.optional(),
    chain: patterns.optional(),
    /** The rule matches payments above this value in US dollars. */
    usd_above: z.number().min(0).max(1e12).optional(),
    origin: oneOrMore(z.enum(originKinds)).optional(),
    /** The channels on which people asked for the work. */
    channel: oneOrMore(z.enum(peopleChannels)).optional(),
  })
  .refine((match) => Object.keys(match).length > 0, {
    message: "match must name at least one field; agent: '*' matches everything",
  })
export type Match = z.output<typeof matchSchema>

export const ruleName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,59}$/, { message: 'a name has only lower-case letters, digits, . _ and -' })
const reason = z.string().max(policyLimits.reasonMaxChars).default('')

export const ruleSchema = z.strictObject({
  name: ruleName,
  match: matchSchema,
  /** A condition in CEL that must hold as well. */
  when: z.string().min(1).max(conditionMaxChars).optional(),
  verdict: z.enum(verdicts),
  reason,
  /** The names of `ask` rules that do not apply where this `allow` rule matches. */
  excepts: oneOrMore(z.string().min(1).max(100)).optional(),
})
export type WrittenRule = z.output<typeof ruleSchema>

const presetSchema = z.strictObject({
  preset: z.enum(presetNames),
  /** The hosts instead of those that the preset names. */
  hosts: oneOrMore(hostPattern).optional(),
  /** The server and its reading tools, for the preset `mcp`. */
  server: pattern.optional(),
  reads: patterns.optional(),
  /** The agents that the rules apply to; all by default. */
  agent: patterns.optional(),
})
export type WrittenPreset = z.output<typeof presetSchema>

const caseSchema = z.strictObject({
  agent: pattern,
  project: pattern.optional(),
  tool: toolPattern.optional(),
  method: pattern.optional(),
  url: z.url().max(2000).optional(),
  mcp_server: pattern.optional(),
  mcp_tool: pattern.optional(),
  credential: patterns.optional(),
  chain: pattern.optional(),
  contract: pattern.optional(),
  payee: patterns.optional(),
  usd: z.number().min(0).optional(),
  origin: oneOrMore(z.enum(originKinds)).optional(),
  channel: oneOrMore(z.enum(peopleChannels)).optional(),
  expect: z.enum(verdicts),
  /** The name of the rule that must decide. */
  rule: z.string().max(100).optional(),
})
export type PolicyCase = z.output<typeof caseSchema>

/** An entry of `rules`: a preset if it names one, else a rule, so that a fault is reported for the intended form. */
const entrySchema = z
  .record(z.string(), z.unknown())
  .transform((entry, context): WrittenPreset | WrittenRule => {
    const parsed = Object.hasOwn(entry, 'preset')
      ? presetSchema.safeParse(entry)
      : ruleSchema.safeParse(entry)
    if (parsed.success) return parsed.data
    for (const issue of parsed.error.issues) {
      // The line of an unknown key itself helps more than that of the rule.
      const unknown = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : []
      const path = [...issue.path, ...unknown]
      context.issues.push({ code: 'custom', input: entry, path, message: formatIssue(issue) })
    }
    return z.NEVER
  })

/** A list that may be left out, or have all of its entries commented out, which YAML reads as null. */
function listOf<T extends z.ZodType>(entry: T, max: number) {
  return z
    .array(entry)
    .max(max)
    .nullish()
    .transform((given) => given ?? [])
}

export const policySchema = z.strictObject({
  rules: listOf(entrySchema, policyLimits.rulesMax),
  cases: listOf(caseSchema, policyLimits.casesMax),
})
