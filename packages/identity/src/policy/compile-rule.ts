import { compilePathPattern, compileWordPattern } from '../access/index.ts'
import { compileCondition, conditionValues } from './condition.ts'
import type { Condition, ConditionValues } from './condition.ts'
import type { Effect, Verdict } from './effect.ts'
import { pathForms } from './path-forms.ts'
import type { Match, WrittenRule } from './policy-schema.ts'

/** A rule that is ready to decide. */
export interface PolicyRule {
  readonly name: string
  readonly verdict: Verdict
  readonly reason: string
  readonly line: number
  /** The position in the file, from 0; of two rules that match with one verdict, the first is named. */
  readonly order: number
  readonly match: Match
  readonly when: string | null
  readonly excepts: readonly string[]
  readonly matches: (asked: AskedEffect) => boolean
}

/** An effect with what several rules need of it, computed at most once for a decision. */
export interface AskedEffect {
  readonly effect: Effect
  readonly paths: () => readonly string[]
  readonly values: () => ConditionValues
}

export function askedEffect(effect: Effect): AskedEffect {
  let paths: readonly string[] | null = null
  let values: ConditionValues | null = null
  return {
    effect,
    paths: () => (paths ??= typeof effect.path === 'string' ? pathForms(effect.path) : []),
    values: () => (values ??= conditionValues(effect)),
  }
}

/** Whether a field matches; `hidden` if the mesh cannot see its value. */
type FieldTest = (asked: AskedEffect) => boolean | 'hidden'

/**
 * Compiles one rule, or returns the reason why it is refused. A field that does not apply to an effect does not match.
 * A field whose value is hidden, a condition that fails, and a path with several readings decide against the effect:
 * they match a rule that asks or denies, and not one that allows. Pure.
 */
export function compileRule(
  written: WrittenRule,
  at: { readonly line: number; readonly order: number },
): PolicyRule | { readonly fault: string } {
  const { name, verdict, reason, match, when } = written
  if (written.excepts !== undefined && verdict !== 'allow')
    return { fault: `the rule ${name} has excepts, which only a rule with the verdict allow may have` }
  const isStrict = verdict !== 'allow'
  const tests = fieldTests(match, isStrict)
  const condition = when === undefined ? null : compileCondition(when)
  if (condition !== null && 'fault' in condition)
    return { fault: `when of the rule ${name}: ${condition.fault}` }
  if (condition !== null) tests.push(conditionTest(condition, isStrict))
  return {
    name,
    verdict,
    reason,
    ...at,
    match,
    when: when ?? null,
    excepts: written.excepts ?? [],
    matches: (asked) => {
      for (const test of tests) {
        const result = test(asked)
        if (result === false || (result === 'hidden' && !isStrict)) return false
      }
      return true
    },
  }
}

function fieldTests(match: Match, isStrict: boolean): FieldTest[] {
  const tests: FieldTest[] = []
  const word = (given: readonly string[] | undefined, of: (effect: Effect) => string | null | undefined) => {
    if (given === undefined) return
    const patterns = given.map(compileWordPattern)
    tests.push(({ effect }) => tested(of(effect), (value) => patterns.some((matches) => matches(value))))
  }
  word(match.agent, ({ agent }) => agent)
  word(match.tool, ({ tool }) => tool)
  if (match.host !== undefined) {
    const hosts = match.host.map(hostTest)
    tests.push(({ effect }) => tested(effect.host, (host) => hosts.some((matches) => matches(host))))
  }
  word(match.method, ({ method }) => method)
  word(match.mcp_server, ({ mcpServer }) => mcpServer)
  word(match.mcp_tool, ({ mcpTool }) => mcpTool)
  word(match.project, ({ project }) => project)
  word(match.chain, ({ chain }) => chain)
  const { usd_above: above, origin, credential, path } = match
  if (above !== undefined) tests.push(({ effect }) => tested(effect.usd, (usd) => usd > above))
  if (origin !== undefined) {
    tests.push(({ effect }) =>
      tested(effect.origins, (kinds) => kinds.some((kind) => origin.some((one) => one === kind))),
    )
  }
  if (credential !== undefined) {
    const patterns = credential.map(compileWordPattern)
    tests.push(({ effect }) =>
      tested(effect.credentials, (names) => names.some((name) => patterns.some((matches) => matches(name)))),
    )
  }
  // The most expensive test comes last.
  if (path !== undefined) {
    const patterns = path.map(compilePathPattern)
    const exact = (form: string) => patterns.some((matches) => matches(form))
    // Many servers ignore case in paths, so a rule that asks or denies does too.
    const folded = path.map((pattern) => compilePathPattern(pattern.toLowerCase()))
    const matchesOne = (form: string) =>
      exact(form) || (isStrict && folded.some((matches) => matches(form.toLowerCase())))
    tests.push(({ effect, paths }) =>
      tested(effect.path, () => (isStrict ? paths().some(matchesOne) : paths().every(matchesOne))),
    )
  }
  return tests
}

function tested<T>(value: T | null | undefined, test: (value: T) => boolean): boolean | 'hidden' {
  if (value === undefined) return false
  return value === null ? 'hidden' : test(value)
}

/** Returns a test for a host as the owner writes it: a host, `*.domain` for names below it, or `*`. */
function hostTest(pattern: string): (host: string) => boolean {
  const written = plainHost(pattern)
  if (written === '*') return () => true
  return written.startsWith('*.') ? (host) => host.endsWith(written.slice(1)) : (host) => host === written
}

/** A host in the form in which effects have it: lower case, without a final dot. Pure. */
export function plainHost(host: string): string {
  return host
    .toLowerCase()
    .replace(/\.$/, '')
    .replace(/^\[(.*)\]$/, '$1')
}

function conditionTest(condition: Condition, isStrict: boolean): FieldTest {
  const { variables } = condition
  const usesPath = variables.includes('path')
  return (asked) => {
    const values = asked.values()
    if (variables.some((name) => values[name] === undefined)) return false
    if (variables.some((name) => values[name] === null)) return 'hidden'
    if (!usesPath) return condition.holds(values) ?? 'hidden'
    const results = asked.paths().map((path) => condition.holds({ ...values, path }) ?? isStrict)
    return isStrict ? results.includes(true) : !results.includes(false)
  }
}
