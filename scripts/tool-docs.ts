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
    'The permission record of an agent decides which tools its model is offered. Skills and tools of MCP servers are in no',
    'group.',
    '',
    '| group | for | who has it | tools |',
    '|---|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}
