import { keyVariables } from './condition-keys.ts'
import type { KeyVariable } from './condition-keys.ts'
import { hasWildcard, plainHost } from './compile-rule.ts'
import type { AskedEffect, PolicyRule } from './compile-rule.ts'
import type { Match } from './policy-schema.ts'
import { createTextFinder } from './text-finder.ts'
import type { FindTexts } from './text-finder.ts'

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
    keysOf: ({ conditionKeys }) => conditionKeys.get(variable) ?? null,
    // Method and path may decide by being hidden, whatever the others are.
    keysFrom: (asked) => {
      const { method, path, mcpTool } = asked.effect
      const isHidden = method === null || path === null || (mcpTool === null && variable === 'mcp_tool')
      return isHidden ? null : conditionTexts[variable](asked)
    },
    isWithin: true,
  }
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
  ...keyVariables.map(conditionField),
]

interface FieldIndex {
  readonly field: IndexedField
  /** How many rules have a key. */
  readonly counts: Map<string, number>
  /** The rules that are found by this field, by their keys, and all of them. */
  readonly buckets: Map<string, PolicyRule[]>
  readonly whole: PolicyRule[]
}

/**
 * Indexes rules of one verdict. Each rule is found by that of its fields whose values the fewest rules share. A rule
 * without such a field is tested for each effect. The order of the rules is their `order`.
 */
export function createRuleIndex(rules: readonly PolicyRule[]): RuleIndex {
  const indexes = fields.map((field): FieldIndex => ({
    field,
    counts: new Map(),
    buckets: new Map(),
    whole: [],
  }))
  for (const { field, counts } of indexes) {
    for (const rule of rules)
      for (const key of new Set(field.keysOf(rule))) counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  const others: PolicyRule[] = []
  for (const rule of rules) {
    const rarest = rarestField(rule, indexes)
    if (rarest === null) others.push(rule)
    else {
      rarest.index.whole.push(rule)
      for (const key of new Set(rarest.keys)) addTo(rarest.index.buckets, key, rule)
    }
  }
  const used = indexes
    .filter(({ whole }) => whole.length > 0)
    .map((index) => ({
      ...index,
      find: index.field.isWithin ? createTextFinder(index.buckets.keys()) : null,
    }))

  function candidates(asked: AskedEffect): readonly (readonly PolicyRule[])[] {
    const lists: (readonly PolicyRule[])[] = [others]
    for (const { field, buckets, whole, find } of used) {
      const keys = field.keysFrom(asked)
      if (keys === null) {
        lists.push(whole)
        continue
      }
      for (const key of find === null ? keys : foundWithin(keys, find)) {
        const list = buckets.get(key)
        if (list !== undefined) lists.push(list)
      }
    }
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
  rule: PolicyRule,
  indexes: readonly FieldIndex[],
): { readonly index: FieldIndex; readonly keys: readonly string[] } | null {
  const found = indexes.flatMap((index) => {
    const keys = index.field.keysOf(rule)
    return keys === null
      ? []
      : [{ index, keys, rules: Math.max(...keys.map((key) => index.counts.get(key) ?? 0)) }]
  })
  return found.toSorted((a, b) => a.rules - b.rules)[0] ?? null
}

function foundWithin(texts: readonly string[], find: FindTexts): Iterable<string> {
  return new Set(texts.flatMap((text) => [...find(text)]))
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

function addTo(buckets: FieldIndex['buckets'], key: string, rule: PolicyRule): void {
  const list = buckets.get(key)
  if (list === undefined) buckets.set(key, [rule])
  else list.push(rule)
}
