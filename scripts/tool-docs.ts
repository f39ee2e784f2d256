import { coreTools, findableGroups } from '@flotilla/protocol/findable-tools'
import { toolGroups } from '@flotilla/protocol/tool-groups'

/** docs/tools.md, made from the table of groups. */
export function toolDocs(): string {
  const rows = toolGroups.map(({ name, operatorOnly, summary, tools }) => {
    const members = Object.entries<string>(tools).map(([within, tool]) =>
      within === tool ? `\`${tool}\`` : `\`${within}\` (called \`${tool}\`)`,
    )
    return `| \`${name}\` | ${summary} | ${operatorOnly ? 'the operator' : 'every agent'} | ${members.join(', ')} |`
  })
  return [
    '# Tools',
    '',
    'Generated from `packages/protocol/src/tool-groups.ts` by `npm run docs`. `GET /capabilities` of an agent',
    'returns its groups and the group of each tool. `flotilla permissions tools` lists the permissions that each tool needs.',
    'The permission record of an agent decides which tools its model may use. Skills and tools of MCP servers are in no',
    'group.',
    '',
    '| group | for | who has it | tools |',
    '|---|---|---|---|',
    ...rows,
    '',
    '## In the prompt, or found by the model',
    '',
    'Of the tools that an agent may use, each prompt holds the definitions of the core tools. The model finds the others with',
    '`find_tools`, by the name of a group, the name of a tool or words, and calls them with `call_tool`, or by name at Anthropic. Skills are',
    'the group `skill`, and the tools of an MCP server the group `mcp:SERVER`.',
    '',
    '| kind | core tools |',
    '|---|---|',
    ...Object.entries(coreTools).map(([kind, names]) => `| ${kind} | ${inCode(names)} |`),
    '',
    '| group of `find_tools` | for | tools |',
    '|---|---|---|',
    ...findableGroups.map(({ name, summary, tools }) => `| \`${name}\` | ${summary} | ${inCode(tools)} |`),
    '',
  ].join('\n')
}

function inCode(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ')
}
