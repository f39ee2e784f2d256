import type { McpServerStatus } from '@flotilla/protocol/mcp-api'
import { isRemote, shownAddress } from '@flotilla/protocol/mcp-servers'
import type { McpServer } from '@flotilla/protocol/mcp-servers'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { Caller, Guard } from '@flotilla/identity/access'
import type { FleetEvents } from '../events/index.ts'
import type { Log } from '@flotilla/foundation/platform'
import type { AgentRegistry } from './administration/agent-registry.ts'
import type { FleetConnection } from './fleet.ts'

/** The time limit for a running agent to report the states of its servers, milliseconds. */
const askMaxMs = 5000

/**
 * Lists an agent's MCP servers: the configuration comes from the mesh, the states from the agent. Problem
 * `unknown-agent`.
 */
export function createListMcpServers(deps: {
  readonly guard: Guard
  readonly log: Log
  readonly fleet: Pick<AgentRegistry, 'require' | 'mcpServers'> & Pick<FleetConnection, 'connectIfRunning'>
  readonly fleetEvents: Pick<FleetEvents, 'outboundDoubts'>
}) {
  const { guard, log, fleet } = deps

  async function statusesFrom(agentId: string): Promise<readonly McpServerStatus[]> {
    try {
      const connection = await fleet.connectIfRunning(agentId)
      return (await connection?.mcpServers(AbortSignal.timeout(askMaxMs))) ?? []
    } catch (error) {
      log.warn(
        { agentId, err: error },
        'failed to read the state of an agent’s MCP servers; they are shown as not started',
      )
      return []
    }
  }

  return async (caller: Caller, agentId: string) => {
    // Among people, only owners may see the servers' configuration.
    guard(caller, { do: caller.kind === 'human' ? 'manage-fleet' : 'view-fleet' })
    fleet.require(agentId)
    const configured = Object.entries(fleet.mcpServers.of(agentId))
    const statuses = configured.length === 0 ? [] : await statusesFrom(agentId)
    const statusOf = (name: string) => statuses.find((status) => status.name === name)
    return {
      agent_id: agentId,
      servers: configured.map(([name, config]) => ({
        ...serverView(name, config, statusOf(name)),
        notices: isRemote(config)
          ? deps.fleetEvents.outboundDoubts.ask({ url: new URL(shownAddress(config.url)), agentId }).slice()
          : [],
      })),
    }
  }
}

function serverView(name: string, config: McpServer, status: McpServerStatus | undefined) {
  const base = { name, config: { ...config }, protocol: status?.protocol ?? null }
  if (config.disabled === true) return { ...base, state: 'disabled' as const, detail: '', tools: [] }
  if (!status) {
    const detail = 'the MCP server starts with the next run of the agent'
    return { ...base, state: 'not-started' as const, detail, tools: [] }
  }
  return { ...base, state: status.state, detail: sanitizeForPrompt(status.detail), tools: status.tools }
}
