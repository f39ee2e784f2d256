import { compileFoldedPattern, compilePathPattern } from '../access/index.ts'
import { compileCondition } from './condition.ts'
import type { ConditionKeys } from './condition-keys.ts'
import type { Condition } from './condition.ts'
import { createReadings } from './condition-readings.ts'
import type { Readings } from './condition-readings.ts'
import { createConditionCompiler } from './condition-truth.ts'
import type { ConditionNeeds, NumberBound, Truth } from './condition-truth.ts'
import { conditionValues, variableBits } from './condition-values.ts'
import { webSocketMethod } from './effect.ts'
import type { Effect, Verdict, WorkOrigins } from './effect.ts'
import { forbiddenForms, pathForms, pathFormsMax } from './path-forms.ts'
import type { Match, WrittenRule } from './policy-schema.ts'

/** A rule that is ready to decide. */
export interface PolicyRule extends Needed {
  readonly name: string
  readonly verdict: Verdict
  readonly reason: string
  readonly line: number
  /** The position in the file, from 0; of two rules that match with one verdict, the first is named. */
  readonly order: number
  readonly match: Match
  readonly when: string | null
  readonly excepts: readonly string[]
  /** By what the condition is found; empty without one. */
  readonly conditionKeys: ConditionKeys<Needed>
  readonly matches: (asked: AskedEffect) => boolean
}

/** The names of an effect in lower case; undefined for an absent one, null for a hidden one. */
interface FoldedNames {
  readonly agent: string
  readonly project: string | undefined
  readonly tool: string
  readonly method: string | null | undefined
  readonly mcpServer: string | undefined
  readonly mcpTool: string | null | undefined
  readonly chain: string | undefined
  readonly credentials: readonly string[] | undefined
}

/** An effect with what several rules need of it, computed at most once for a decision. */
export interface AskedEffect {
  readonly effect: Effect
  /** Case does not matter in rules. */
  readonly folded: FoldedNames
  /** The readings of the path that a rule that allows must match. */
  readonly paths: () => readonly string[]
  /** The readings of the path of which a rule that asks or denies matches any, and the same in lower case. */
  readonly forbiddenPaths: () => readonly string[]
  readonly foldedPaths: () => readonly string[]
  /** The kinds of origin and the channels, which are read from the database. */
  readonly work: () => Partial<WorkOrigins>
  /** What conditions are tested with. */
  readonly readings: () => Readings
}

export function askedEffect(given: Effect): AskedEffect {
  const forms = once(() => (typeof given.path === 'string' ? pathForms(given.path) : []))
  const effect = decidable(given, forms)
  const paths = () => (typeof effect.path === 'string' ? forms() : [])
  const forbiddenPaths = once(() => forbiddenForms(paths()))
  const foldedPaths = once(() => [...new Set(forbiddenPaths().map((path) => path.toLowerCase()))])
  const work = once((): Partial<WorkOrigins> => {
    const { origins, channels } = effect
    return { ...(origins === undefined ? {} : { origins }), ...(channels === undefined ? {} : { channels }) }
  })
  const values = once(() => conditionValues(effect, work()))
  return {
    effect,
    folded: {
      agent: effect.agent.toLowerCase(),
      project: effect.project?.toLowerCase(),
      tool: effect.tool.toLowerCase(),
      method: effect.method?.toLowerCase() ?? effect.method,
      mcpServer: effect.mcpServer?.toLowerCase(),
      mcpTool: effect.mcpTool?.toLowerCase() ?? effect.mcpTool,
      chain: effect.chain?.toLowerCase(),
      credentials: effect.credentials?.map((name) => name.toLowerCase()),
    },
    paths,
    forbiddenPaths,
    foldedPaths,
    work,
    readings: once(() => {
      // The forms of a path for rules that allow are the first ones of the others.
      const all = [...new Set([...forbiddenPaths(), ...foldedPaths()])]
      return createReadings(values(), all, paths().length)
    }),
  }
}

/** Returns the effect with values hidden that no rule can be tested with. */
function decidable(effect: Effect, forms: () => readonly string[]): Effect {
  const { path, usd } = effect
  // Only a path that is encoded several times, or has dots beside encoded characters, has so many forms.
  const isObscure = typeof path === 'string' && path.includes('%') && forms().length > pathFormsMax
  const hidden = { ...(isObscure ? { path: null } : {}), ...(Number.isNaN(usd) ? { usd: null } : {}) }
  // The origins are a getter that reads the database, which a copy would call.
  return Object.keys(hidden).length === 0
    ? effect
    : (Object.create(effect, Object.getOwnPropertyDescriptors(hidden)) as Effect)
}

function once<T>(compute: () => T): () => T {
  let known: { readonly value: T } | null = null
  return () => (known ??= { value: compute() }).value
}

/** A test that a rule needs to pass; equal ones are the same function. */
export type Need = (asked: AskedEffect) => boolean

/** Returns the least and the greatest value of a number; `hidden` and `absent` are those of variables. */
export type ExtremesOf = (asked: AskedEffect) => readonly [number, number] | 'hidden' | 'absent'

/** A number of an effect that must reach a limit, or must not exceed it. */
export interface Bound {
  /** Bounds of the same number have the same function. */
  readonly extremesOf: ExtremesOf
  readonly isAbove: boolean
  readonly limit: number
}

/** Without what a rule cannot match, or a part of its condition cannot hold. */
export interface Needed {
  /** Tests that must all pass; rules of one policy share equal ones. */
  readonly needs: readonly Need[]
  /** Numbers that must all be within limits. */
  readonly bounds: readonly Bound[]
}

/** What the rules of one policy share, so that it is computed once for an effect. */
export interface RuleSharing {
  readonly compileTruth: ReturnType<typeof createConditionCompiler>
  /** Returns the test with this key, made if it is new. */
  readonly need: (key: string, make: () => Need) => Need
  readonly numberOf: (truth: Truth) => number
  /** Returns the extremes of a number in conditions with these variables; equal ones are the same function. */
  readonly extremes: (of: NumberBound['extremesOf'], variables: number) => ExtremesOf
}

export function createSharing(): RuleSharing {
  const needs = new Map<string, Need>()
  const numbers = new Map<Truth, number>()
  const extremes = new Map<NumberBound['extremesOf'], Map<number, ExtremesOf>>()
  return {
    compileTruth: createConditionCompiler(),
    need: (key, make) => {
      const need = needs.get(key) ?? rememberedNeed(make())
      needs.set(key, need)
      return need
    },
    numberOf: (truth) => {
      const number = numbers.get(truth) ?? numbers.size
      numbers.set(truth, number)
      return number
    },
    extremes: (of, variables) => {
      const known = extremes.get(of) ?? new Map<number, ExtremesOf>()
      extremes.set(of, known)
      const one = known.get(variables) ?? visibleExtremes(of, variables)
      known.set(variables, one)
      return one
    },
  }
}

/** The values of a number in a condition with these variables. */
function visibleExtremes(extremesOf: NumberBound['extremesOf'], variables: number): ExtremesOf {
  return ({ readings }) => {
    const of = readings()
    if ((variables & of.absent) !== 0) return 'absent'
    return (variables & of.hidden) === 0 ? extremesOf(of) : 'hidden'
  }
}

function rememberedNeed(test: Need): Need {
  let last: AskedEffect | null = null
  let result = false
  return (asked) => {
    if (last !== asked) {
      result = test(asked)
      last = asked
    }
    return result
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
  sharing = createSharing(),
): PolicyRule | { readonly fault: string } {
  const { name, verdict, reason, match, when } = written
  if (written.excepts !== undefined && verdict !== 'allow')
    return { fault: `the rule ${name} has excepts, which only a rule with the verdict allow may have` }
  const isStrict = verdict !== 'allow'
  const condition = when === undefined ? null : compileCondition(when, sharing.compileTruth)
  if (condition !== null && 'fault' in condition)
    return { fault: `when of the rule ${name}: ${condition.fault}` }
  const conditional = condition === null ? null : ofCondition(condition, sharing)
  return {
    name,
    verdict,
    reason,
    ...at,
    match,
    when: when ?? null,
    excepts: written.excepts ?? [],
    conditionKeys: conditional?.conditionKeys ?? [],
    needs: [
      ...Object.entries(match).map(([field, value]) =>
        sharing.need(`${isStrict} ${field} ${JSON.stringify(value)}`, () =>
          allPass(fieldTests({ [field]: value }, isStrict), isStrict),
        ),
      ),
      ...(conditional?.needs ?? []),
    ],
    bounds: conditional?.bounds ?? [],
    matches: compileMatch(match, isStrict, condition === null ? [] : [conditionTest(condition, isStrict)]),
  }
}

/** Compiles the fields of a match, and further tests. A strict match holds also for hidden values. */
export function compileMatch(
  match: Match,
  isStrict: boolean,
  more: readonly FieldTest[] = [],
): PolicyRule['matches'] {
  const tests = [...fieldTests(match, isStrict), ...more]
  const namesWebSockets = match.method?.some((name) => name.toUpperCase() === webSocketMethod) === true
  if (!isStrict && !namesWebSockets) tests.unshift(({ effect }) => effect.method !== webSocketMethod)
  return allPass(tests, isStrict)
}

function allPass(tests: readonly FieldTest[], isStrict: boolean): Need {
  const [only] = tests
  const passes = (result: boolean | 'hidden') => result === true || (result === 'hidden' && isStrict)
  if (tests.length === 1 && only !== undefined) return (asked) => passes(only(asked))
  return (asked) => tests.every((test) => passes(test(asked)))
}

function fieldTests(match: Match, isStrict: boolean): FieldTest[] {
  const tests: FieldTest[] = []
  const word = (
    given: readonly string[] | undefined,
    of: (folded: FoldedNames) => string | null | undefined,
  ) => {
    if (given === undefined) return
    const matches = wordTest(given)
    tests.push(({ folded }) => tested(of(folded), matches))
  }
  // Every effect has both, so a star needs no test.
  if (match.agent?.includes('*') !== true) word(match.agent, ({ agent }) => agent)
  if (match.tool?.includes('*') !== true) word(match.tool, ({ tool }) => tool)
  if (match.host !== undefined) {
    const hosts = match.host.map(hostTest)
    tests.push(({ effect }) => tested(effect.host, (host) => hosts.some((matches) => matches(host))))
  }
  word(match.method, ({ method }) => method)
  word(match.mcp_server, ({ mcpServer }) => mcpServer)
  word(match.mcp_tool, ({ mcpTool }) => mcpTool)
  word(match.project, ({ project }) => project)
  word(match.chain, ({ chain }) => chain)
  const { usd_above: above, origin, channel, credential, path } = match
  const anyOfWork = (given: readonly string[] | undefined, of: 'origins' | 'channels') => {
    if (given === undefined) return
    const names: ReadonlySet<string> = new Set(given)
    tests.push(({ work }) => tested(work()[of], (all) => all.some((one) => names.has(one))))
  }
  if (above !== undefined) tests.push(({ effect }) => tested(effect.usd, (usd) => usd > above))
  anyOfWork(origin, 'origins')
  anyOfWork(channel, 'channels')
  if (credential !== undefined) {
    const matches = wordTest(credential)
    tests.push(({ folded }) => tested(folded.credentials, (names) => names.some(matches)))
  }
  // The most expensive test comes last.
  if (path !== undefined) {
    const matches = anyOf(path.map(compilePathPattern))
    // Many servers ignore case in paths, so a rule that asks or denies does too.
    const folded = anyOf(path.map((pattern) => compilePathPattern(pattern.toLowerCase())))
    // A pattern that is in lower case matches no path that its folded form misses.
    const isFolded = path.every((pattern) => /^[!-@[-~]*$/.test(pattern))
    tests.push(({ effect, paths, forbiddenPaths, foldedPaths }) => {
      if (typeof effect.path !== 'string') return effect.path === null ? 'hidden' : false
      if (!isStrict) return paths().every(matches)
      return foldedPaths().some(folded) || (!isFolded && forbiddenPaths().some(matches))
    })
  }
  return tests
}

/** Returns a test for a name in lower case: names without wildcards are compared all at once. */
function wordTest(given: readonly string[]): (word: string) => boolean {
  const names = new Set(given.map((name) => name.toLowerCase()))
  const patterns = given.filter(hasWildcard)
  const matches = anyOf(patterns.map(compileFoldedPattern))
  return patterns.length === given.length ? matches : (word) => names.has(word) || matches(word)
}

/** Whether a pattern for names may match more than one name. */
export function hasWildcard(pattern: string): boolean {
  return /[*?[]/.test(pattern)
}

function anyOf(tests: readonly ((text: string) => boolean)[]): (text: string) => boolean {
  const [only] = tests
  if (only !== undefined && tests.length === 1) return only
  return (text) => tests.some((matches) => matches(text))
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
  return host.toLowerCase().replace(/\.$/, '').replace(/[[\]]/g, '')
}

function conditionTest(condition: Condition, isStrict: boolean): FieldTest {
  const variables = variableBits(condition.variables)
  return ({ readings }) => {
    const of = readings()
    if ((variables & of.absent) !== 0) return false
    if ((variables & of.hidden) !== 0) return 'hidden'
    const truth = condition.truth(of)
    if (truth === null) return 'hidden'
    return isStrict ? truth !== 0 : (truth & of.allowing) === of.allowing
  }
}

/** What a condition or a part of it needs; a hidden value decides, whatever its other parts are. */
function visibleNeeds({ needs, bounds }: ConditionNeeds, variables: number, sharing: RuleSharing): Needed {
  return {
    needs: needs.map((truth) =>
      sharing.need(`${variables} ${sharing.numberOf(truth)}`, () => ({ readings }) => {
        const of = readings()
        if ((variables & of.absent) !== 0) return false
        return (variables & of.hidden) !== 0 || truth(of) !== 0
      }),
    ),
    bounds: bounds.map((bound) => ({ ...bound, extremesOf: sharing.extremes(bound.extremesOf, variables) })),
  }
}

/** By what a rule is found, and what it needs, by its condition. */
function ofCondition(condition: Condition, sharing: RuleSharing) {
  const variables = variableBits(condition.variables)
  const conditionKeys: ConditionKeys<Needed> = condition.keys.map((list) =>
    list.map((key) => ('part' in key ? { part: visibleNeeds(key.part, variables, sharing) } : key)),
  )
  return { conditionKeys, ...visibleNeeds(condition, variables, sharing) }
}
