import { createHash } from 'node:crypto'
import { askedEffect, compileRule } from './compile-rule.ts'
import type { PolicyRule } from './compile-rule.ts'
import { createDecideAsked } from './decide-effect.ts'
import type { DecideEffect, Effect, EffectDetails } from './effect.ts'
import { harnessCallPrefix } from './effect.ts'
import { ruleSchema } from './policy-schema.ts'

/** A rule as the owner would write it in config/policy.yaml. */
export interface ProposedRule {
  readonly name: string
  readonly match: Record<string, string>
  readonly when?: string
  readonly verdict: 'allow'
  readonly excepts?: string
  readonly reason: string
}

/** What a rule names of an effect. */
interface Named {
  readonly match: Record<string, string>
  readonly conditions: readonly string[]
}

/**
 * Returns the narrowest rule that allows exactly such effects of one agent without asking, and takes back the rule
 * that asks for them. Null if no rule can name the effect: a hidden path, method, value or call, a path with `*`, or
 * names that are too long for a rule. Pure.
 */
export function proposeRule(
  agentId: string,
  effect: EffectDetails,
  why: {
    /** The `ask` rule that applies to the effect. */
    readonly rule: string
    readonly reason: string
    /** The origins of the work; if absent, the rule allows all of them. */
    readonly origins?: readonly string[]
  },
): ProposedRule | null {
  const named =
    namedPayment(effect) ?? namedHarnessCall(effect) ?? namedToolCall(effect) ?? namedRequest(effect)
  if (named === null) return null
  const match = { agent: agentId, tool: effect.tool, ...named.match }
  const conditions = [
    ...named.conditions,
    ...(why.origins === undefined
      ? []
      : [`origins == [${why.origins.map((kind) => JSON.stringify(kind)).join(', ')}]`]),
  ]
  const when = conditions.join(' && ')
  const digest = createHash('sha256')
    .update(JSON.stringify([match, when, why.rule]))
    .digest('hex')
    .slice(0, 8)
  const proposed: ProposedRule = {
    name: `always-${agentId
      .toLowerCase()
      .replace(/[^a-z0-9._-]/g, '-')
      .slice(0, 40)}-${digest}`,
    match,
    when,
    verdict: 'allow',
    excepts: why.rule,
    reason: why.reason,
  }
  return compileProposed(proposed, 0) === null ? null : proposed
}

/** A payment to the same addresses by the same contract, of at most the same value; a call with the same arguments. */
function namedPayment({ tool, chain, contract, payees, call, usd }: EffectDetails): Named | null {
  if (chain === undefined || contract === undefined || payees === undefined || typeof usd !== 'number')
    return null
  // Of a call, contract and value do not say what its other arguments do.
  if (tool !== 'wallet_transfer' && typeof call !== 'string') return null
  return {
    match: { chain: literal(chain) },
    conditions: [
      `contract == ${JSON.stringify(contract)}`,
      `payees == [${payees.map((payee) => JSON.stringify(payee)).join(', ')}]`,
      ...(typeof call === 'string' ? [`call == ${JSON.stringify(call)}`] : []),
      // Cents, because the value of the fee changes with each block.
      `usd <= ${(Math.ceil(usd * 100) / 100).toFixed(2)}`,
    ],
  }
}

function namedHarnessCall({ tool, call }: EffectDetails): Named | null {
  return tool.startsWith(harnessCallPrefix) && typeof call === 'string'
    ? { match: {}, conditions: [`call == ${JSON.stringify(call)}`] }
    : null
}

function namedToolCall({ mcpServer, mcpTool, credentials }: EffectDetails): Named | null {
  if (mcpServer === undefined || typeof mcpTool !== 'string') return null
  return {
    match: { mcp_server: literal(mcpServer), mcp_tool: literal(mcpTool) },
    // Names match in any case, and tools with names that differ in case only are different tools.
    conditions: [`mcp_tool == ${JSON.stringify(mcpTool)}`, ...sameCredentials(credentials)],
  }
}

function namedRequest({ mcpServer, host, method, path, credentials }: EffectDetails): Named | null {
  if (mcpServer !== undefined || host === undefined) return null
  if (typeof method !== 'string' || typeof path !== 'string') return null
  if (path.includes('*')) return null
  return { match: { host, method, path }, conditions: sameCredentials(credentials) }
}

/** Without this condition, the rule would also allow the effect with another credential. */
function sameCredentials(credentials: readonly string[] = []): readonly string[] {
  return [
    `credentials.size() == ${credentials.length}`,
    ...credentials.map((name) => `${JSON.stringify(name)} in credentials`),
  ]
}

/** Returns the compiled rule; null if it breaks a limit of rules. */
function compileProposed(proposed: ProposedRule, order: number): PolicyRule | null {
  const { match, excepts, ...rest } = proposed
  const lists = Object.fromEntries(Object.entries(match).map(([field, value]) => [field, [value]]))
  const written = ruleSchema.safeParse({
    ...rest,
    match: lists,
    ...(excepts === undefined ? {} : { excepts: [excepts] }),
  })
  if (!written.success) return null
  const compiled = compileRule(written.data, { line: 0, order })
  return 'fault' in compiled ? null : compiled
}

/** What a proposed rule would change; it matches work of every origin that it does not name. */
export interface TriedRule {
  /** The decision of the other rules together with the proposed one. */
  readonly decide: DecideEffect
  /** Whether the proposed rule would decide about the effect. */
  readonly opens: (effect: Effect) => boolean
}

/** Creates the trial of proposed rules together with those in force, which are indexed once. Pure. */
export function createTryRule(rules: readonly PolicyRule[]): (proposed: ProposedRule) => TriedRule {
  const decide = createDecideAsked(rules)
  return (proposed) => {
    const compiled = compileProposed(proposed, rules.length)
    if (compiled === null) throw new Error(`the rule ${proposed.name} breaks a limit of rules`)
    return {
      decide: (effect) => decide(askedEffect(effect), compiled),
      opens: (effect) => {
        const asked = askedEffect(effect)
        return compiled.matches(asked) && decide(asked, compiled).rule === proposed.name
      },
    }
  }
}

/** A pattern that matches this name only. */
function literal(name: string): string {
  return name.replace(/[*?[]/g, '[$&]')
}
