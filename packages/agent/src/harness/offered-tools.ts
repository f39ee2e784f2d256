import { toolGroups } from '@flotilla/protocol/tool-groups'
import type { Tool } from '../tools/tool.ts'

/** Groups whose work a harness does itself, or that only the agent's own loop can do. */
const ownGroups: readonly string[] = ['file_tool', 'shell_tool', 'subagent_tool', 'find_tool']
/** Tools of the agent's own loop in other groups: a harness has skills of its own. */
const ownTools: readonly string[] = ['create_skill', 'reload_skills', 'use_skill']

/**
 * The tools that a harness gets from its agent: those that reach the mesh, and those of the agent's MCP servers. Tools
 * that the mesh would deny are left out. Pure.
 */
export function offeredToHarness(tools: readonly Tool[]): readonly Tool[] {
  const own = new Set(
    toolGroups
      .filter(({ name }) => ownGroups.includes(name))
      .flatMap((group) => Object.values<string>(group.tools)),
  )
  return tools
    .filter(({ definition: { name }, source = '', withheld }) => {
      if (withheld === true || own.has(name) || ownTools.includes(name)) return false
      return source === '' || source.startsWith('mcp:')
    })
    .toSorted((a, b) => (a.definition.name < b.definition.name ? -1 : 1))
}
