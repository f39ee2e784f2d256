import { Problem } from '@flotilla/protocol/problem'
import type { McpServerStatus } from '@flotilla/protocol/mcp-api'
import type { McpServer } from '@flotilla/protocol/mcp-servers'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { McpUseCases } from '../agents/people.routes.ts'
import type { MeshParts } from './compose-parts.ts'

/** An agent that runs says at once how its servers stand. */
const askMaxMs = 5000

export function mcpUseCases({ fleet, guard, log }: MeshParts): McpUseCases {
  async function toldBy(agentId: string): Promise<readonly McpServerStatus[]> {
    try {
      const connection = await fleet.connectIfRunning(agentId)
      return (await connection?.mcpServers(AbortSignal.timeout(askMaxMs))) ?? []
    } catch (error) {
      log.warn({ agentId, err: error }, 'an agent does not say how its MCP servers stand')
      return []
    }
  }

  return {
    mcpServers: async (caller, agentId) => {
      guard(caller, { do: 'view-fleet' })
      if (!fleet.find(agentId)) {
        throw new Problem('unknown-agent', { detail: 'there is no agent with this id' })
      }
      const configured = Object.entries(fleet.mcpServers.of(agentId))
      const told = configured.length === 0 ? [] : await toldBy(agentId)
      return {
        agent_id: agentId,
        servers: configured.map(([name, config]) =>
          viewOf(
            name,
            config,
            told.find((status) => status.name === name),
          ),
        ),
      }
    },
  }
}

/** What is configured is the mesh's word, how it stands the agent's. */
function viewOf(name: string, config: McpServer, told: McpServerStatus | undefined) {
  const base = { name, config: { ...config }, protocol: told?.protocol ?? null }
  if (config.disabled === true) return { ...base, state: 'disabled' as const, detail: '', tools: [] }
  if (!told) {
    const detail = 'it starts with the next run of the agent'
    return { ...base, state: 'not-started' as const, detail, tools: [] }
  }
  return { ...base, state: told.state, detail: sanitizeForPrompt(told.detail), tools: [...told.tools] }
}
