import { askedEffect } from './compile-rule.ts'
import type { AskedEffect, PolicyRule } from './compile-rule.ts'
import type { DecideEffect, PolicyDecision } from './effect.ts'
import { createRuleIndex } from './rule-index.ts'

/** The reason of an effect that no rule names. */
export const noRuleWords = 'no rule of config/policy.yaml matches, so the permission record decides alone'

/**
 * Creates the decision of a policy: `deny` before `ask` before `allow`, and of two rules with one verdict the first of
 * the file. An `allow` rule takes back the `ask` rules that it names in `excepts`, but no `deny` rule. Without a rule,
 * the effect is allowed: the permission record was checked before, and no rule gives what it withholds. Pure.
 */
export function createDecideEffect(rules: readonly PolicyRule[]): DecideEffect {
  const decide = createDecideAsked(rules)
  return (effect) => decide(askedEffect(effect), null)
}

/**
 * Creates the decision of rules and at most one further rule that allows, as if it were the last of the file. The
 * rules are indexed once, whatever number of rules is tried. Pure.
 */
export function createDecideAsked(
  rules: readonly PolicyRule[],
): (asked: AskedEffect, more: PolicyRule | null) => PolicyDecision {
  const denies = createRuleIndex(rules.filter(({ verdict }) => verdict === 'deny'))
  const asks = createRuleIndex(rules.filter(({ verdict }) => verdict === 'ask'))
  const allows = createRuleIndex(rules.filter(({ verdict }) => verdict === 'allow'))
  const exceptions = createRuleIndex(rules.filter(({ excepts }) => excepts.length > 0))
  return (asked, more) => {
    const denied = denies.first(asked)
    if (denied !== null) return decidedBy(denied)
    if (asks.first(asked) !== null) {
      const excepting = [...exceptions.all(asked)]
      if (more?.matches(asked) === true) excepting.push(more)
      const excepted = new Set(excepting.flatMap(({ excepts }) => excepts))
      const asking = asks.first(asked, ({ name }) => !excepted.has(name))
      if (asking !== null) return decidedBy(asking)
      const [exception] = excepting
      if (exception !== undefined) return decidedBy(exception)
    }
    const allowed = allows.first(asked)
    if (allowed !== null) return decidedBy(allowed)
    if (more?.matches(asked) === true) return decidedBy(more)
    return { verdict: 'allow', rule: null, line: null, reason: noRuleWords }
  }
}

function decidedBy({ verdict, name, line, reason }: PolicyRule): PolicyDecision {
  return { verdict, rule: name, line, reason: reason === '' ? `the rule ${name} matches` : reason }
}
