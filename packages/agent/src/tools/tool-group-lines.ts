import type { FindableGroup } from '@flotilla/protocol/findable-tools'
import type { Tool } from './tool.ts'

/**
 * The maximum characters of the names in one line, and of all lines of skills and MCP servers together: their names
 * are untrusted.
 */
const namesMaxChars = 160
const foreignMaxChars = 2400

/** A group of tools, with only the tools that the agent may use. */
export interface ToolGroupMembers {
  readonly name: string
  readonly summary: string
  readonly tools: readonly Tool[]
}

/** The groups of these tools: those of the table, then the agent's skills, and each MCP server. Pure. */
export function groupTools(
  tools: readonly Tool[],
  groups: readonly FindableGroup[],
): readonly ToolGroupMembers[] {
  const own = groups.map(({ name, summary, tools: names }) => ({
    name,
    summary,
    tools: tools.filter(({ definition, source }) => source === undefined && names.includes(definition.name)),
  }))
  const sources = [...new Set(tools.flatMap(({ source }) => source ?? []))]
  const foreign = sources.map((source) => ({
    name: source,
    summary: source === 'skill' ? 'tools that you wrote' : `tools of the MCP server ${source.slice(4)}`,
    tools: tools.filter((tool) => tool.source === source),
  }))
  return [...own, ...foreign].filter((group) => group.tools.length > 0)
}

/**
 * One line for each group, with names. Bounded, however many tools a server has and however long their names are.
 * Pure.
 */
export function listToolGroups(tools: readonly Tool[], groups: readonly FindableGroup[]): string {
  const lines: string[] = []
  let room = foreignMaxChars
  let leftOut = 0
  for (const { name, summary, tools: members } of groupTools(tools, groups)) {
    const names = namesWithin(members)
    const isForeign = members.some(({ source }) => source !== undefined)
    const line = `- ${name}: ${summary} (${names})`
    if (isForeign) room -= line.length
    if (isForeign && room < 0) leftOut += 1
    else lines.push(line)
  }
  if (leftOut > 0) lines.push(`- and ${leftOut} MCP servers more, which mcp_servers shows`)
  return lines.join('\n')
}

function namesWithin(tools: readonly Tool[]): string {
  const shown: string[] = []
  let room = namesMaxChars
  for (const { definition } of tools.toSorted((a, b) => (a.definition.name < b.definition.name ? -1 : 1))) {
    room -= definition.name.length + 2
    if (room < 0) break
    shown.push(definition.name)
  }
  const left = tools.length - shown.length
  if (left === 0) return shown.join(', ')
  return shown.length === 0 ? `${left} tools` : `${shown.join(', ')} and ${left} more`
}
