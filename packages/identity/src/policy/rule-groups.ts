import type { AskedEffect, Need, PolicyRule } from './compile-rule.ts'

/** Rules that need the same tests to pass. */
export interface RuleGroup {
  /** None for rules that share no test. */
  readonly needs: readonly Need[]
  readonly rules: readonly PolicyRule[]
}

/**
 * Groups rules by the tests that other rules need as well, so that 500 rules with `!(path.contains("items"))` are
 * excluded by one comparison. Keeps the order within a group. Pure.
 */
export function groupByNeeds(rules: readonly PolicyRule[]): readonly RuleGroup[] {
  const numbers = new Map<Need, number>()
  const seenTwice = new Set<Need>()
  for (const need of rules.flatMap((rule) => [...new Set(rule.needs)])) {
    if (numbers.has(need)) seenTwice.add(need)
    else numbers.set(need, numbers.size)
  }
  const groups = new Map<string, { readonly needs: readonly Need[]; readonly rules: PolicyRule[] }>()
  for (const rule of rules) {
    const needs = [...new Set(rule.needs)].filter((need) => seenTwice.has(need))
    const key = needs.map((need) => numbers.get(need)).join()
    const group = groups.get(key) ?? { needs, rules: [] }
    groups.set(key, group)
    group.rules.push(rule)
  }
  return [...groups.values()]
}

/** Whether some rule of a group may match. */
export function mayMatch({ needs }: RuleGroup, asked: AskedEffect): boolean {
  return needs.every((need) => need(asked))
}
