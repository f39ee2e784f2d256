import { mcpServersSchema } from '@flotilla/protocol/mcp-servers'
import type { McpServers } from '@flotilla/protocol/mcp-servers'
import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'
import { jsonColumn } from '@flotilla/foundation/storage'

/** Stores the MCP servers of each agent. They are deleted with the agent's row. */
export interface McpServerTable {
  /** Returns the agent's MCP servers; empty for an agent without servers and for an unknown agent. */
  of(agentId: string): McpServers
  /** Replaces all MCP servers of the agent, whose row must exist. */
  put(agentId: string, servers: McpServers): void
}

const rowSchema = z.object({ servers: jsonColumn(mcpServersSchema) })

export function createMcpServerTable(database: Database): McpServerTable {
  return {
    of: (agentId) => {
      const row = database.prepare('SELECT servers FROM mcp_servers WHERE agent_id = ?').get(agentId)
      return row ? rowSchema.parse(row).servers : {}
    },
    put: (agentId, servers) => {
      if (Object.keys(servers).length === 0) {
        database.prepare('DELETE FROM mcp_servers WHERE agent_id = ?').run(agentId)
        return
      }
      database
        .prepare(
          'INSERT INTO mcp_servers (agent_id, servers) VALUES (?, ?) ON CONFLICT (agent_id) DO UPDATE SET servers = excluded.servers',
        )
        .run(agentId, JSON.stringify(servers))
    },
  }
}
