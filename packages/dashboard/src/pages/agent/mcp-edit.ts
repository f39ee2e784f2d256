import type { JsonValue } from '@flotilla/protocol/json-value'
import type { AgentEdit } from '@flotilla/protocol/agent-edit'
import { mcpNameFault, readMcpServer } from '@flotilla/protocol/mcp-servers'
import type { McpServer } from '@flotilla/protocol/mcp-servers'

/** Initial configuration of a new MCP server, for a local program and for a server on the network. */
export const mcpBeginnings = {
  network: '{\n  "url": "https://",\n  "headers": {}\n}',
  container: '{\n  "command": "",\n  "args": [],\n  "env": {}\n}',
} as const

/** Parses a typed server, or returns the error. Pure. */
export function readWritten(
  name: string,
  text: string,
): { readonly server: McpServer; readonly fault: null } | { readonly server: null; readonly fault: string } {
  if (name === '') return { server: null, fault: 'Enter a name for the server.' }
  const wrongName = mcpNameFault(name)
  if (wrongName !== null) return { server: null, fault: wrongName }
  try {
    return readMcpServer(JSON.parse(text))
  } catch (error) {
    return {
      server: null,
      fault: `This is not valid JSON: ${error instanceof Error ? error.message : String(error)}`,
    }
  }
}

/**
 * Returns the edit. `seen` has each server's value when the form was opened (null: no such server); the mesh rejects
 * the edit if one has changed. Pure.
 */
export function mcpEdit(change: {
  readonly set?: Readonly<Record<string, McpServer>>
  readonly remove?: readonly string[]
  readonly seen?: Readonly<Record<string, JsonValue>>
}): AgentEdit {
  const value = { set: { ...change.set }, remove: [...(change.remove ?? [])] }
  const edit: AgentEdit = { field: 'mcpServers', value, reason: '' }
  return change.seen === undefined ? edit : { ...edit, seen: { ...change.seen } }
}
