import { jsonLimits } from '@flotilla/protocol/limits'
import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { toolsCalledBy } from '@flotilla/protocol/mcp-messages'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { readJsonAsWritten } from '@flotilla/foundation/intake'
import type { EffectDetails } from '@flotilla/identity/policy'

/** The tools that an exchange calls. */
export interface ServerEffects {
  /** One entry for each tool call; null for a call of an unknown tool. Empty for an exchange that only reads. */
  readonly tools: readonly (string | null)[]
  /** The body to send: written anew from what was read, so that the server cannot read another tool in it. */
  readonly body: string
}

/**
 * Reads which tools a message to an MCP server calls. A body that cannot be read counts as a call of an unknown tool.
 * Pure.
 */
export function serverEffects(exchange: { readonly method: string; readonly body: string }): ServerEffects {
  const { method, body } = exchange
  // A request that carries no message gets no body either, because a server may read one all the same.
  if (method !== 'POST') return { tools: [], body: '' }
  let message: unknown
  try {
    message = readJsonAsWritten(body, jsonLimits.body)
  } catch {
    return { tools: [null], body }
  }
  return { tools: toolsCalledBy(message), body: JSON.stringify(message) }
}

/** Returns the effects to decide about: one for each called tool, or the exchange itself if it only reads. Pure. */
export function effectsOfExchange(
  server: string,
  tools: readonly (string | null)[],
  at: Pick<EffectDetails, 'method' | 'host' | 'path' | 'credentials'>,
): readonly EffectDetails[] {
  const of = { tool: 'mcp', mcpServer: server, ...at }
  return tools.length === 0 ? [of] : tools.map((mcpTool) => ({ ...of, mcpTool }))
}

/** The name and the arguments of a message that is one call of one tool; null for any other message. Pure. */
export function calledTool(message: JsonValue | undefined): JsonObject | null {
  if (!isJsonObject(message) || message['method'] !== 'tools/call') return null
  const { params } = message
  if (!isJsonObject(params) || typeof params['name'] !== 'string') return null
  return { name: params['name'], arguments: params['arguments'] ?? {} }
}
