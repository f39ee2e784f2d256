import type { AskedEffect, Bound, ExtremesOf, Need, Needed } from './compile-rule.ts'

/** Rules, or parts of their conditions, that need the same tests to pass and bound the same numbers. */
export interface RuleGroup<T extends Needed> {
  /** None for rules that share no test. */
  readonly needs: readonly Need[]
  /** In the order of the file. */
  readonly rules: readonly T[]
  /** The rules by the limits of each number that all of them bound. */
  readonly bounded: readonly BoundedRules<T>[]
}

interface BoundedRules<T> extends Pick<Bound, 'extremesOf' | 'isAbove'> {
  /** In ascending order. */
  readonly limits: readonly number[]
  readonly rules: readonly T[]
}

/** Sorting fewer rules by their limits excludes less than it costs. */
const boundedMin = 8

/**
 * Groups rules by the tests that other rules need as well, so that 500 rules with `!(path.contains("items"))` are
 * excluded by one comparison, and by the numbers that they bound, so that 500 rules with `usd > N` are excluded by one
 * search. Keeps the order within a group. Pure.
 */
export function groupByNeeds<T extends Needed>(rules: readonly T[]): readonly RuleGroup<T>[] {
  const numberOf = numbered()
  const seen = new Set<Need>()
  const seenTwice = new Set<Need>()
  for (const need of rules.flatMap((rule) => [...new Set(rule.needs)])) {
    if (seen.has(need)) seenTwice.add(need)
    seen.add(need)
  }
  const groups = new Map<string, { readonly needs: readonly Need[]; readonly rules: T[] }>()
  for (const rule of rules) {
    const needs = [...new Set(rule.needs)].filter((need) => seenTwice.has(need))
    const bounds = new Set(rule.bounds.map(({ extremesOf, isAbove }) => `${numberOf(extremesOf)} ${isAbove}`))
    const key = [...needs.map(numberOf), ...bounds].join()
    const group = groups.get(key) ?? { needs, rules: [] }
    groups.set(key, group)
    group.rules.push(rule)
  }
  return [...groups.values()].map((group) => ({ ...group, bounded: boundedRules(group.rules) }))
}

function numbered(): (part: Need | ExtremesOf) => number {
  const numbers = new Map<Need | ExtremesOf, number>()
  return (part) => {
    const number = numbers.get(part) ?? numbers.size
    numbers.set(part, number)
    return number
  }
}

/** Sorts rules that all bound the same numbers by each of these. */
function boundedRules<T extends Needed>(rules: readonly T[]): readonly BoundedRules<T>[] {
  if (rules.length < boundedMin) return []
  return (rules[0]?.bounds ?? []).map(({ extremesOf, isAbove }) => {
    const limits = rules.map(({ bounds }) =>
      bounds.find((bound) => bound.extremesOf === extremesOf && bound.isAbove === isAbove),
    )
    const sorted = rules
      .map((rule, at) => ({ rule, limit: limits[at]?.limit ?? 0 }))
      .toSorted((a, b) => a.limit - b.limit)
    return {
      extremesOf,
      isAbove,
      limits: sorted.map(({ limit }) => limit),
      rules: sorted.map(({ rule }) => rule),
    }
  })
}

/** Returns the rules of a group that may match an effect, in any order. */
export function rulesLeft<T extends Needed>(
  { needs, rules, bounded }: RuleGroup<T>,
  asked: AskedEffect,
): readonly T[] {
  if (!needs.every((need) => need(asked))) return none
  let found = rules
  for (const { extremesOf, isAbove, limits, rules: sorted } of bounded) {
    const extremes = extremesOf(asked)
    if (extremes === 'absent') return none
    // A hidden value decides against the effect.
    if (extremes === 'hidden') return rules
    // A limit that is reached and not passed is left to the rule.
    const first = isAbove ? 0 : countOf(limits, (limit) => limit < extremes[0])
    const end = isAbove ? countOf(limits, (limit) => limit <= extremes[1]) : limits.length
    if (end - first < found.length) found = sorted.slice(first, end)
  }
  return found
}

const none: readonly never[] = []

/** Counts how many of the limits are before a number, which are the first ones. */
function countOf(limits: readonly number[], isBefore: (limit: number) => boolean): number {
  let [first, end] = [0, limits.length]
  while (first < end) {
    const middle = (first + end) >>> 1
    if (isBefore(limits[middle] as number)) first = middle + 1
    else end = middle
  }
  return first
}
