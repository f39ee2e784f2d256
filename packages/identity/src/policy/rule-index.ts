import { plainHost } from './compile-rule.ts'
import type { AskedEffect, PolicyRule } from './compile-rule.ts'

/** Finds the first rule that matches, without testing rules for other hosts and tools. */
export interface RuleIndex {
  /** Returns the first matching rule in the order of the file that `counts`; null if no rule matches. */
  first(asked: AskedEffect, counts?: (rule: PolicyRule) => boolean): PolicyRule | null
  /** Returns every matching rule, in the order of the file. */
  all(asked: AskedEffect): readonly PolicyRule[]
}

/**
 * Indexes rules of one verdict: by host where every host of the rule is a name or `*.domain`, else by tool where every
 * tool is a plain name. All other rules are tested for each effect. The order of the rules is their `order`.
 */
export function createRuleIndex(rules: readonly PolicyRule[]): RuleIndex {
  const byHost = new Map<string, PolicyRule[]>()
  const byTool = new Map<string, PolicyRule[]>()
  const others: PolicyRule[] = []
  for (const rule of rules) {
    const hosts = rule.match.host?.map(plainHost)
    const tools = rule.match.tool?.map((tool) => tool.toLowerCase())
    if (hosts !== undefined && !hosts.includes('*')) addTo(byHost, hosts, rule)
    else if (tools !== undefined && !tools.some((tool) => /[*?[]/.test(tool))) addTo(byTool, tools, rule)
    else others.push(rule)
  }

  function candidates({ effect }: AskedEffect): readonly (readonly PolicyRule[])[] {
    const lists: (readonly PolicyRule[])[] = []
    const add = (list: readonly PolicyRule[] | undefined) => list !== undefined && lists.push(list)
    if (effect.host !== undefined && byHost.size > 0) {
      add(byHost.get(effect.host))
      for (let dot = effect.host.indexOf('.'); dot !== -1; dot = effect.host.indexOf('.', dot + 1))
        add(byHost.get(`*${effect.host.slice(dot)}`))
    }
    if (byTool.size > 0) add(byTool.get(effect.tool.toLowerCase()))
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

function addTo(index: Map<string, PolicyRule[]>, keys: readonly string[], rule: PolicyRule): void {
  for (const key of new Set(keys)) {
    const list = index.get(key)
    if (list === undefined) index.set(key, [rule])
    else list.push(rule)
  }
}
