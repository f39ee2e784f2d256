import type { FindableGroup } from '@flotilla/protocol/findable-tools'
import { groupTools } from './tool-group-lines.ts'
import type { Tool } from './tool.ts'

/** The maximum number of tools found by words; a query that names a group finds the whole group. */
const byWordsMax = 8
/** Tools with less than this share of the best tool's score are left out. */
const leastOfBest = 0.5
const partsMax = 10
const wordsMax = 20
/** A shorter word says nothing. */
const wordMinChars = 3

/** How much a word counts where it occurs. */
const weights = { name: 4, group: 2, description: 1 } as const

interface Findable {
  readonly tool: Tool
  readonly group: string
  readonly name: string
  readonly about: string
  readonly description: string
}

/**
 * Returns the tools that match a query. Each part between commas is either a list of names of groups and tools, or
 * words that describe a task, for which the best matches are returned. Each tool appears once, in the order of the
 * query. Pure.
 */
export function searchTools(
  query: string,
  tools: readonly Tool[],
  groups: readonly FindableGroup[],
): readonly Tool[] {
  const all: readonly Findable[] = groupTools(tools, groups).flatMap(({ name, summary, tools: members }) =>
    members.map((tool) => ({
      tool,
      group: name.toLowerCase(),
      name: tool.definition.name.toLowerCase(),
      about: `${name} ${summary}`.toLowerCase(),
      description: tool.definition.description.toLowerCase(),
    })),
  )
  const parts = query.toLowerCase().split(/[,;\n]/, partsMax)
  return [...new Set(parts.flatMap((part) => named(part, all) ?? byWords(part, all)))]
}

/** Returns the tools that a part of the query names, if all its words are names of tools or groups; else null. */
function named(part: string, all: readonly Findable[]): readonly Tool[] | null {
  const names = part.split(/\s+/, wordsMax).filter((word) => word !== '')
  const found = names.map((name) =>
    all.filter((one) => one.name === name || one.group === name || one.group === `mcp:${name}`),
  )
  return found.length > 0 && found.every((list) => list.length > 0)
    ? found.flat().map(({ tool }) => tool)
    : null
}

function byWords(part: string, all: readonly Findable[]): readonly Tool[] {
  const words = part
    .split(/[^\p{L}\p{N}]+/u, wordsMax)
    .filter((word) => word.length >= wordMinChars)
    // The singular is within the plural.
    .map((word) => (word.length > wordMinChars ? word.replace(/s$/, '') : word))
  const scored = all.map((one) => ({
    tool: one.tool,
    score: words.reduce((sum, word) => sum + scoreOf(word, one), 0),
  }))
  const least = Math.max(1, leastOfBest * Math.max(0, ...scored.map(({ score }) => score)))
  return scored
    .filter(({ score }) => score >= least)
    .toSorted((a, b) => b.score - a.score)
    .slice(0, byWordsMax)
    .map(({ tool }) => tool)
}

function scoreOf(word: string, { name, about, description }: Findable): number {
  return (
    (name.includes(word) ? weights.name : 0) +
    (about.includes(word) ? weights.group : 0) +
    (description.includes(word) ? weights.description : 0)
  )
}
