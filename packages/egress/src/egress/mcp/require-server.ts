import { isRemote } from '@flotilla/protocol/mcp-servers'
import type { McpServers, RemoteMcpServer } from '@flotilla/protocol/mcp-servers'
import { Problem } from '@flotilla/protocol/problem'

/** Returns an enabled server on the network. Problem `not-found` if the agent has none with this name. Pure. */
export function requireServer(servers: McpServers, name: string): RemoteMcpServer {
  const server = Object.hasOwn(servers, name) ? servers[name] : undefined
  if (server === undefined || !isRemote(server) || server.disabled === true) {
    throw new Problem('not-found', { detail: `this agent has no MCP server ${name} on the network` })
  }
  return server
}
