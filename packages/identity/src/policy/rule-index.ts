import { isKey, keyVariables } from './condition-keys.ts'
import type { ConditionKeys, KeyVariable } from './condition-keys.ts'
import { hasWildcard, plainHost } from './compile-rule.ts'
import type { AskedEffect, Needed, PolicyRule } from './compile-rule.ts'
import type { Match } from './policy-schema.ts'
import { groupByNeeds, rulesLeft } from './rule-groups.ts'
import type { RuleGroup } from './rule-groups.ts'
import { createTextFinder } from './text-finder.ts'

/** Finds the first rule that matches, without testing rules for other hosts, servers, agents and so on. */
export interface RuleIndex {
  /** Returns the first matching rule in the order of the file that `counts`; null if no rule matches. */
  first(asked: AskedEffect, counts?: (rule: PolicyRule) => boolean): PolicyRule | null
  /** Returns every matching rule, in the order of the file. */
  all(asked: AskedEffect): readonly PolicyRule[]
}

/** A field by which rules are found: a rule is found by each of its keys. */
interface IndexedField {
  /** The keys of a rule; null if the rule also matches effects without any of its keys. */
  readonly keysOf: (rule: PolicyRule) => readonly string[] | null
  /** The keys of an effect; null if its value is hidden, so that every rule with the field may match. */
  readonly keysFrom: (asked: AskedEffect) => readonly string[] | null
  /** Whether a rule is found if one of its keys is within a key of the effect, instead of being equal to it. */
  readonly isWithin?: true
}

const names =
  (field: 'agent' | 'project' | 'tool' | 'mcp_server' | 'chain' | 'credential') =>
  ({ match }: PolicyRule): readonly string[] | null => {
    const given = match[field]
    return given === undefined || given.some(hasWildcard) ? null : given.map((name) => name.toLowerCase())
  }
const one = (name: string | undefined): readonly string[] => (name === undefined ? [] : [name])

/** The texts within which the keys of conditions are. */
const conditionTexts: Readonly<Record<KeyVariable, (asked: AskedEffect) => readonly string[]>> = {
  path: ({ foldedPaths }) => foldedPaths(),
  host: ({ effect }) => one(effect.host),
  mcp_server: ({ folded }) => one(folded.mcpServer),
  mcp_tool: ({ folded }) => one(folded.mcpTool ?? undefined),
  chain: ({ folded }) => one(folded.chain),
  project: ({ folded }) => one(folded.project),
  agent: ({ folded }) => [folded.agent],
  tool: ({ folded }) => [folded.tool],
  method: ({ folded }) => one(folded.method ?? undefined),
  credentials: ({ effect }) => effect.credentials ?? [],
}

function conditionField(variable: KeyVariable): IndexedField {
  return {
    // A condition can need keys of several variables, so `choicesOf` reads them.
    keysOf: () => null,
    // Method and path may decide by being hidden, whatever the others are.
    keysFrom: (asked) =>
      asked.effect.method === null || asked.effect.path === null ? null : conditionTexts[variable](asked),
    isWithin: true,
  }
}

/** Finds rules with patterns by a literal part of each pattern. */
function partField(
  field: 'agent' | 'project' | 'tool' | 'mcp_server' | 'mcp_tool' | 'chain' | 'credential' | 'path',
  keysFrom: IndexedField['keysFrom'],
): IndexedField {
  return {
    keysOf: ({ match }) => {
      const parts = match[field]?.map((pattern) => longestPart(pattern.toLowerCase(), field === 'path'))
      return parts?.every(isKey) ? parts : null
    },
    keysFrom,
    isWithin: true,
  }
}

/**
 * The longest part of a pattern without wildcards, and before the first set or after the last one; of equal ones the last,
 * which fewer patterns share. In a path, `**` with its slash may stand for nothing.
 */
function longestPart(pattern: string, isPath: boolean): string {
  const parts = isPath ? pattern.split(/\*+\/?/) : pattern.replace(/\[.*\]/s, '*').split(/[*?[]/)
  return parts.toReversed().toSorted((a, b) => b.length - a.length)[0] ?? ''
}

/** In the order in which a field is preferred to another one with rules as few. */
const fields: readonly IndexedField[] = [
  {
    keysOf: ({ match: { host } }) => (host === undefined || host.includes('*') ? null : host.map(plainHost)),
    keysFrom: ({ effect: { host } }) => (host === undefined ? [] : hostKeys(host)),
  },
  { keysOf: names('mcp_server'), keysFrom: ({ folded }) => one(folded.mcpServer) },
  { keysOf: names('credential'), keysFrom: ({ folded }) => folded.credentials ?? [] },
  { keysOf: names('chain'), keysFrom: ({ folded }) => one(folded.chain) },
  {
    keysOf: ({ match: { path } }) => pathKeys(path, firstSegment),
    keysFrom: ({ effect: { path }, foldedPaths }) =>
      path === null ? null : [...new Set(foldedPaths().map(firstSegment))],
  },
  {
    keysOf: ({ match: { path } }) => pathKeys(path, lastSegment),
    keysFrom: ({ effect: { path }, foldedPaths }) =>
      path === null ? null : [...new Set(foldedPaths().map(lastSegment))],
  },
  { keysOf: names('project'), keysFrom: ({ folded }) => one(folded.project) },
  { keysOf: names('agent'), keysFrom: ({ folded }) => [folded.agent] },
  { keysOf: names('tool'), keysFrom: ({ folded }) => [folded.tool] },
  partField('mcp_server', ({ folded }) => one(folded.mcpServer)),
  partField('mcp_tool', ({ folded: { mcpTool } }) => (mcpTool === null ? null : one(mcpTool))),
  partField('credential', ({ folded }) => folded.credentials ?? []),
  partField('chain', ({ folded }) => one(folded.chain)),
  partField('path', ({ effect: { path }, foldedPaths }) => (path === null ? null : foldedPaths())),
  partField('project', ({ folded }) => one(folded.project)),
  partField('agent', ({ folded }) => [folded.agent]),
  partField('tool', ({ folded }) => [folded.tool]),
]
const conditionFields = new Map(keyVariables.map((variable) => [variable, conditionField(variable)]))
/** Parts of conditions are keys by themselves. */
const partsField: IndexedField = { keysOf: () => null, keysFrom: () => [] }

/** What rules are found by: a value of their field, or a part of their condition. */
type Key = string | Needed

interface FieldIndex {
  readonly field: IndexedField
  /** How many rules have a key. */
  readonly counts: Map<Key, number>
  /** The rules that are found by this field, by their keys, and all of them. */
  readonly buckets: Map<Key, PolicyRule[]>
  readonly whole: PolicyRule[]
}

/**
 * Indexes rules of one verdict. Each rule is found by that of its fields whose values the fewest rules share. A rule
 * without such a field is tested for each effect. The order of the rules is their `order`.
 */
export function createRuleIndex(rules: readonly PolicyRule[]): RuleIndex {
  const indexes = [...fields, ...conditionFields.values(), partsField].map((field): FieldIndex => ({
    field,
    counts: new Map(),
    buckets: new Map(),
    whole: [],
  }))
  const indexOf = new Map(indexes.map((index) => [index.field, index]))
  const choices = new Map(rules.map((rule) => [rule, choicesOf(rule, indexOf)]))
  for (const of of choices.values()) countKeys(of)
  const others: PolicyRule[] = []
  for (const rule of rules) {
    const rarest = rarestOf(choices.get(rule) ?? [])
    if (rarest === null) others.push(rule)
    for (const { index, keys } of rarest ?? []) {
      index.whole.push(rule)
      for (const key of keys) addTo(index.buckets, key, rule)
    }
  }
  const used = indexes
    .filter(({ whole }) => whole.length > 0)
    .map(({ field, buckets, whole }) => ({
      keysFrom: lookup(field, [...buckets.keys()]),
      buckets: new Map([...buckets].map(([key, list]) => [key, groupByNeeds(list)])),
      whole: groupByNeeds(whole),
    }))
  const otherGroups = groupByNeeds(others)

  function candidates(asked: AskedEffect): readonly (readonly PolicyRule[])[] {
    const lists: (readonly PolicyRule[])[] = []
    const add = (groups: readonly RuleGroup<PolicyRule>[]) => {
      for (const group of groups) lists.push(rulesLeft(group, asked))
    }
    add(otherGroups)
    for (const { keysFrom, buckets, whole } of used) {
      const keys = keysFrom(asked)
      if (keys === null) add(whole)
      else for (const key of keys) add(buckets.get(key) ?? [])
    }
    return lists
  }

  return {
    first(asked, counts) {
      let found: PolicyRule | null = null
      for (const list of candidates(asked)) {
        for (const rule of list) {
          // The rules of a list may be in another order than those of the file.
          if (found !== null && rule.order > found.order) continue
          if (rule.matches(asked) && (counts === undefined || counts(rule))) found = rule
        }
      }
      return found
    },
    all: (asked) =>
      [...new Set(candidates(asked).flat())]
        .filter((rule) => rule.matches(asked))
        .toSorted((a, b) => a.order - b.order),
  }
}

/** Keys of a rule in several fields: an effect that the rule matches has at least one of them. */
type Choice = readonly { readonly index: FieldIndex; readonly keys: readonly Key[] }[]

/** Returns each way in which a rule can be found. */
function choicesOf(rule: PolicyRule, indexOf: ReadonlyMap<IndexedField, FieldIndex>): readonly Choice[] {
  const placed = (field: IndexedField | undefined, keys: readonly Key[]): Choice => {
    const index = field === undefined ? undefined : indexOf.get(field)
    return index === undefined ? [] : [{ index, keys: [...new Set(keys)] }]
  }
  const byFields = fields.flatMap((field) => {
    const keys = field.keysOf(rule)
    return keys === null ? [] : [placed(field, keys)]
  })
  const byCondition = rule.conditionKeys.map((keys: ConditionKeys<Needed>[number]) =>
    [...Map.groupBy(keys, (key) => ('part' in key ? null : key.variable))].flatMap(([variable, of]) =>
      placed(
        variable === null ? partsField : conditionFields.get(variable),
        of.map((key) => ('part' in key ? key.part : key.text)),
      ),
    ),
  )
  return [...byFields, ...byCondition]
}

/** Counts how many rules have a key. */
function countKeys(choices: readonly Choice[]): void {
  const counted = new Map<FieldIndex, Set<Key>>()
  for (const { index, keys } of choices.flat()) {
    const known = counted.get(index) ?? new Set<Key>()
    counted.set(index, known)
    for (const key of keys) {
      if (!known.has(key)) index.counts.set(key, (index.counts.get(key) ?? 0) + 1)
      known.add(key)
    }
  }
}

/**
 * Returns the choice whose most frequent value the fewest rules have; null if the rule cannot be found by keys. A part
 * of a condition may be frequent, because it excludes as many rules if it does not hold; of equal choices, one without
 * parts is preferred, since a text excludes a rule before anything is evaluated.
 */
function rarestOf(choices: readonly Choice[]): Choice | null {
  const rated = choices.map((choice) => ({
    choice,
    parts: choice.filter(({ index }) => index.field === partsField).length,
    rules: Math.max(
      ...choice
        .filter(({ index }) => index.field !== partsField)
        .flatMap(({ index, keys }) => keys.map((key) => index.counts.get(key) ?? 0)),
    ),
  }))
  return rated.toSorted((a, b) => a.rules - b.rules || a.parts - b.parts)[0]?.choice ?? null
}

/** Returns the function that reads the keys of an effect; null if its value is hidden. */
function lookup(field: IndexedField, keys: readonly Key[]): (asked: AskedEffect) => Iterable<Key> | null {
  if (field === partsField) {
    const groups = groupByNeeds(keys.filter((key) => typeof key !== 'string'))
    return (asked) =>
      groups.flatMap((group) =>
        rulesLeft(group, asked).filter(({ needs }) => needs.every((need) => need(asked))),
      )
  }
  if (field.isWithin !== true) return field.keysFrom
  const find = createTextFinder(keys.filter((key) => typeof key === 'string'))
  return (asked) => {
    const texts = field.keysFrom(asked)
    // One search for all: a key that is found across two texts only adds a rule that is tested.
    return texts === null ? null : find(texts.join('\n'))
  }
}

/** The text before the second slash; the whole path without one. */
function firstSegment(path: string): string {
  const end = path.indexOf('/', 1)
  return end === -1 ? path : path.slice(0, end)
}

/** The text after the last slash; the whole path without a slash. */
function lastSegment(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** A host itself, and `*.domain` for each domain above it. */
function hostKeys(host: string): readonly string[] {
  const keys = [host]
  for (let dot = host.indexOf('.'); dot !== -1; dot = host.indexOf('.', dot + 1))
    keys.push(`*${host.slice(dot)}`)
  return keys
}

/**
 * The segments of patterns at one end, in lower case; null if one of them has a wildcard. A star matches parts of
 * segments and whole segments, so only a segment without one is the same in every path that the pattern matches.
 */
function pathKeys(path: Match['path'], segmentOf: (path: string) => string): readonly string[] | null {
  const segments = path?.map((pattern) => segmentOf(pattern.toLowerCase()))
  return segments === undefined || segments.some((segment) => segment.includes('*')) ? null : segments
}

function addTo(buckets: FieldIndex['buckets'], key: Key, rule: PolicyRule): void {
  const list = buckets.get(key)
  if (list === undefined) buckets.set(key, [rule])
  else list.push(rule)
}
