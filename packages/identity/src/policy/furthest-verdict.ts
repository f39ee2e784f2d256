import { askedEffect, compileRule } from './compile-rule.ts'
import type { PolicyRule } from './compile-rule.ts'
import type { Effect, Verdict } from './effect.ts'
import type { Match } from './policy-schema.ts'

/** The fields that are the same for every effect that goes to one place; all others differ from effect to effect. */
const fixed: readonly (keyof Match)[] = ['agent', 'project', 'tool', 'host', 'credential', 'mcp_server']

/**
 * Returns the mildest verdict that any effect of this agent, tool, host and credential can ever get, whatever its
 * method, path, origin and amount: `deny` only if one rule denies all of them. Pure.
 */
export function furthestVerdict(
  rules: readonly PolicyRule[],
  effect: Pick<Effect, 'agent' | 'project' | 'tool' | 'host' | 'credentials' | 'mcpServer'>,
): { readonly verdict: Verdict; readonly rule: string | null } {
  const asked = askedEffect(effect)
  const always = rules.filter(
    ({ match, when }) =>
      when === null && Object.keys(match).every((field) => fixed.some((name) => name === field)),
  )
  const denied = always.find((rule) => rule.verdict === 'deny' && rule.matches(asked))
  if (denied !== undefined) return { verdict: 'deny', rule: denied.name }
  const excepted = new Set(
    rules.flatMap((rule) => (rule.excepts.length > 0 && mayMatch(rule, effect) ? rule.excepts : [])),
  )
  const asking = always.find(
    (rule) => rule.verdict === 'ask' && !excepted.has(rule.name) && rule.matches(asked),
  )
  return asking === undefined ? { verdict: 'allow', rule: null } : { verdict: 'ask', rule: asking.name }
}

/** Whether a rule matches some effect that goes to this place. */
function mayMatch(rule: PolicyRule, effect: Effect): boolean {
  const { name, verdict, reason, line, order, match } = rule
  const kept = Object.fromEntries(
    Object.entries(match).filter(([field]) => fixed.some((one) => one === field)),
  ) as Match
  const loose = compileRule({ name, verdict, reason, match: { agent: ['*'], ...kept } }, { line, order })
  return 'fault' in loose || loose.matches(askedEffect(effect))
}
