import { deferredToolLimits, deferredTools } from '@flotilla/protocol/deferred-tools'
import { findToolName } from '@flotilla/protocol/findable-tools'
import { describedTools } from '../tools/found-tools.ts'
import type { ModelRequest, PromptMessage } from './language-model.ts'

/** The tools that a conversation has found, in the members by which the mesh is told (`deferred-tools.ts`). */
interface DeferredInRequest {
  readonly members: Readonly<Record<string, readonly object[]>>
  /** The member of each result of a search. */
  readonly found: ReadonlyMap<PromptMessage, object>
}

/** The first line beside the definitions, for models that get no `call_tool`. */
const calledByName = 'Call these by their names.'

/**
 * Returns null for a request without `find_tools`, and for one with more definitions than the mesh accepts: then models
 * read the definitions as text. Definitions come from the conversation alone, so a later request only adds to them.
 * Pure.
 */
export function deferredIn({ messages, tools }: ModelRequest): DeferredInRequest | null {
  if (!tools.some(({ name }) => name === findToolName)) return null
  const definitions = new Map<string, object>()
  const found = new Map<PromptMessage, object>()
  for (const { message, lines, others } of describedTools(messages)) {
    for (const [name, line] of lines) definitions.set(name, asFunction(JSON.parse(line)))
    if (message.role !== 'tool' || lines.size === 0) continue
    found.set(message, {
      [deferredTools.found]: { names: [...lines.keys()], note: [calledByName, ...others].join('\n') },
    })
  }
  const list = [...definitions.values()]
  if (list.length > deferredToolLimits.toolsMax) return null
  if (Buffer.byteLength(JSON.stringify(list)) > deferredToolLimits.maxBytes) return null
  return { members: { [deferredTools.definitions]: list }, found }
}

export function asFunction(definition: object): { readonly type: 'function'; readonly function: object } {
  return { type: 'function', function: definition }
}
