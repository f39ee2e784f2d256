import { callToolName } from '@flotilla/protocol/findable-tools'
import type { SdkChatRequest, SdkMessage, SdkTool } from './chat-request.ts'

/** How the tools of a call are sent to a provider with a tool search of its own. */
interface DeferredInChat {
  /** The tools that every prompt holds. */
  readonly tools: readonly SdkTool[]
  /** The tools that the conversation has found; the provider shows each where a result refers to it. */
  readonly deferred: readonly SdkTool[]
  /** The names that a result refers to; no entry for a result that is sent as text. */
  readonly referred: ReadonlyMap<SdkMessage, readonly string[]>
}

/**
 * A reference must be to a deferred tool of the same call, at least one tool must not be deferred, and no name may occur
 * twice. Only the first result with a tool refers to it, so a prompt has no more definitions than the request, whose
 * bytes bound its price. `call_tool` is left out unless a found tool has no reference: a compaction keeps definitions as
 * text. Pure.
 */
export function deferredInChat(request: SdkChatRequest): DeferredInChat {
  const tools = request.tools ?? []
  const given = request.deferred_tools
  if (!given || tools.length === 0) return { tools, deferred: [], referred: new Map() }
  const listed = new Set(tools.map(nameOf))
  const deferred = given.filter((tool) => !listed.has(nameOf(tool)))
  const left = new Set(deferred.map(nameOf))
  const referred = new Map<SdkMessage, readonly string[]>()
  for (const message of request.messages) {
    // `delete` is true for the first occurrence of a name alone.
    const names = (message.found_tools?.names ?? []).filter((name) => left.delete(name))
    if (names.length > 0) referred.set(message, names)
  }
  return {
    tools: left.size === 0 ? tools.filter((tool) => nameOf(tool) !== callToolName) : tools,
    deferred,
    referred,
  }
}

function nameOf(tool: SdkTool): string {
  return tool.function?.name ?? ''
}
