import { hintOfName } from '@flotilla/protocol/nearest-name'
import type { AgentEdit } from '@flotilla/protocol/agent-edit'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { mcpServersMax, mcpServersSchema } from '@flotilla/protocol/mcp-servers'
import type { McpServers } from '@flotilla/protocol/mcp-servers'
import { Problem } from '@flotilla/protocol/problem'
import type { McpServerTable } from '@flotilla/fleet/agents'
import { requireAtTerminal } from '@flotilla/identity/access'
import type { Caller } from '@flotilla/identity/access'
import { sameJson } from './change-table.ts'
import type { Difference, Editable } from './editable.ts'
import { journalValue } from './journal-value.ts'
import { undoConflict } from './undo-conflict.ts'

type McpEdit = Extract<AgentEdit, { field: 'mcpServers' }>

/**
 * MCP servers of an agent. Only a person may add one: its tools bring untrusted text into the agent's prompt, and it
 * may use credentials. Callers that may edit the agent may remove one. Decisions use the current value, also for
 * undoing. Problems `human-only`, `bad-request`.
 */
export function editMcpServers(deps: { readonly servers: McpServerTable }): Editable<McpEdit> {
  const { servers } = deps

  function write(caller: Caller, agentId: string, difference: Difference): void {
    const requestedServers = mcpServersSchema.parse(withoutNulls(objectOf(difference.after)))
    if (Object.keys(requestedServers).length > 0) requireAtTerminal(caller, 'give an agent MCP servers')
    const touched = Object.keys(objectOf(difference.after))
    const kept = Object.entries(servers.of(agentId)).filter(([name]) => !touched.includes(name))
    const all: McpServers = { ...Object.fromEntries(kept), ...requestedServers }
    if (Object.keys(all).length > mcpServersMax) {
      throw new Problem('bad-request', { detail: `an agent has at most ${mcpServersMax} MCP servers` })
    }
    servers.put(agentId, all)
  }

  return {
    apply: async (caller, { agentId, edit, begin }) => {
      const { set, remove } = edit.value
      const names = [...new Set([...Object.keys(set), ...remove])]
      if (names.length === 0) throw new Problem('bad-request', { detail: 'the request names no MCP server' })
      if (Object.keys(set).length > 0) requireAtTerminal(caller, 'give an agent MCP servers')
      const now = servers.of(agentId)
      const missing = remove.find((name) => !Object.hasOwn(now, name))
      if (missing !== undefined) {
        const hint = hintOfName(missing, Object.keys(now), 'its servers are')
        throw new Problem('not-found', { detail: `${agentId} has no MCP server ${missing}; ${hint}` })
      }
      const difference = { before: picked(now, names), after: picked(set, names) }
      begin(difference)
      return () => {
        write(caller, agentId, difference)
        return 'next-run'
      }
    },
    putBack: async (caller, { agentId, before, after }) => {
      return () => {
        const now = picked(servers.of(agentId), Object.keys(objectOf(after)))
        // Names only: a caller that may undo the change must not see the configurations.
        if (!sameJson(now, after)) throw undoConflict(byName(now), byName(after))
        write(caller, agentId, { before: after, after: before })
        return 'next-run'
      }
    },
  }
}

const byName = (servers: JsonValue): JsonValue => journalValue(servers, 'mcpServers')

/** The configurations of the named servers; null for a missing server. */
function picked(servers: McpServers, names: readonly string[]): JsonObject {
  return Object.fromEntries(
    names.map((name) => [name, Object.hasOwn(servers, name) ? plain(servers[name]) : null]),
  )
}

/** Drops undefined fields, which JSON cannot represent. */
function plain(value: unknown): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject // a server is made of JSON alone
}

function withoutNulls(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([, server]) => server !== null))
}

function objectOf(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {} // what edits write
}
