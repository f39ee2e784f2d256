import { conditionKeyFields, firstSegment, lastSegment } from './condition-keys.ts'
import type { ConditionKeyField } from './condition-keys.ts'
import { hasWildcard, plainHost } from './compile-rule.ts'
import type { AskedEffect, PolicyRule } from './compile-rule.ts'
import type { Match } from './policy-schema.ts'

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
}

const names =
  (field: 'agent' | 'project' | 'tool' | 'mcp_server' | 'chain' | 'credential') =>
  ({ match }: PolicyRule): readonly string[] | null => {
    const given = match[field]
    return given === undefined || given.some(hasWildcard) ? null : given.map((name) => name.toLowerCase())
  }
const one = (name: string | undefined): readonly string[] => (name === undefined ? [] : [name])

const pathsOf = ({ forbiddenPaths, foldedPaths }: AskedEffect): readonly string[] => [
  ...forbiddenPaths(),
  ...foldedPaths(),
]

/** The values that the comparisons of conditions are about. Case matters in them, so the path is also one in lower case. */
const conditionTexts: Readonly<Record<ConditionKeyField, (asked: AskedEffect) => readonly string[]>> = {
  'path start': (asked) => [...new Set(pathsOf(asked).map(firstSegment))],
  'path end': (asked) => [...new Set(pathsOf(asked).map(lastSegment))],
  path: (asked) => [...new Set(pathsOf(asked))],
  host: ({ effect }) => one(effect.host),
  mcp_server: ({ effect }) => one(effect.mcpServer),
  chain: ({ effect }) => one(effect.chain),
  project: ({ effect }) => one(effect.project),
  agent: ({ effect }) => [effect.agent],
  tool: ({ effect }) => [effect.tool],
  method: ({ effect }) => one(effect.method ?? undefined),
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
  ...conditionKeyFields.map((field): IndexedField => ({
    keysOf: ({ conditionKeys }) => conditionKeys.get(field) ?? null,
    // Each of these may decide by being hidden, whatever the others are.
    keysFrom: (asked) =>
      asked.effect.method === null || asked.effect.path === null ? null : conditionTexts[field](asked),
  })),
]

type Buckets = Map<string, PolicyRule[]>

/**
 * Indexes rules of one verdict. Each rule is found by that of its fields whose values the fewest rules share. A rule
 * without such a field is tested for each effect. The order of the rules is their `order`.
 */
export function createRuleIndex(rules: readonly PolicyRule[]): RuleIndex {
  const shared = fields.map(() => new Map<string, number>())
  const keys = rules.map((rule) => fields.map(({ keysOf }) => keysOf(rule)))
  for (const ofRule of keys) {
    for (const [at, found] of ofRule.entries()) {
      const counts = shared[at]
      for (const key of new Set(found)) counts?.set(key, (counts.get(key) ?? 0) + 1)
    }
  }
  const indexes = fields.map(() => ({ buckets: new Map() as Buckets, whole: [] as PolicyRule[] }))
  const others: PolicyRule[] = []
  for (const [at, rule] of rules.entries()) {
    const chosen = rarestField(keys[at] ?? [], shared)
    const index = chosen === null ? undefined : indexes[chosen.field]
    if (chosen === null || index === undefined) {
      others.push(rule)
      continue
    }
    index.whole.push(rule)
    for (const key of new Set(chosen.keys)) addTo(index.buckets, key, rule)
  }

  function candidates(asked: AskedEffect): readonly (readonly PolicyRule[])[] {
    const lists: (readonly PolicyRule[])[] = []
    for (const [at, { buckets, whole }] of indexes.entries()) {
      if (whole.length === 0) continue
      const found = fields[at]?.keysFrom(asked)
      if (found === null) lists.push(whole)
      for (const key of found ?? []) {
        const list = buckets.get(key)
        if (list !== undefined) lists.push(list)
      }
    }
    if (others.length > 0) lists.push(others)
    return lists
  }

  return {
    first(asked, counts = () => true) {
      let found: PolicyRule | null = null
      for (const list of candidates(asked)) {
        for (const rule of list) {
          if (found !== null && rule.order > found.order) break
          if (counts(rule) && rule.matches(asked)) {
            found = rule
            break
          }
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

/** Returns the field whose most frequent key the fewest rules have; null if no field finds the rule. */
function rarestField(
  keys: readonly (readonly string[] | null)[],
  shared: readonly ReadonlyMap<string, number>[],
): { readonly field: number; readonly keys: readonly string[] } | null {
  let rarest: { readonly field: number; readonly keys: readonly string[]; readonly rules: number } | null =
    null
  for (const [field, found] of keys.entries()) {
    if (found === null) continue
    const rules = Math.max(...found.map((key) => shared[field]?.get(key) ?? 0))
    if (rarest === null || rules < rarest.rules) rarest = { field, keys: found, rules }
  }
  return rarest
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

function addTo(buckets: Buckets, key: string, rule: PolicyRule): void {
  const list = buckets.get(key)
  if (list === undefined) buckets.set(key, [rule])
  else list.push(rule)
}
