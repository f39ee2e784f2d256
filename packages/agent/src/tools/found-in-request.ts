import { deferredToolLimits } from '@flotilla/protocol/deferred-tools'
import { findToolName } from '@flotilla/protocol/findable-tools'
import type { ToolDefinition } from '@flotilla/protocol/tool-call'
import type { FoundInRequest, FoundInResult, PromptMessage } from '../llm/language-model.ts'
import { describedTools } from './found-tools.ts'

/** The first line beside the definitions, for models that get no `call_tool`. */
const calledByName = 'Call these by their names.'

/**
 * Returns null for a request without `find_tools`, and for one with more definitions than the mesh accepts: then models
 * read the definitions as text. Definitions come from the conversation alone, so a later request only adds to them.
 * Pure.
 */
export function foundInRequest(
  messages: readonly PromptMessage[],
  tools: readonly ToolDefinition[],
): FoundInRequest | null {
  if (!tools.some(({ name }) => name === findToolName)) return null
  const definitions = new Map<string, ToolDefinition>()
  const results = new Map<PromptMessage, FoundInResult>()
  for (const { message, lines, others } of describedTools(messages)) {
    // `find_tools` wrote these lines from definitions.
    for (const [name, line] of lines) definitions.set(name, JSON.parse(line) as ToolDefinition)
    if (message.role === 'tool' && lines.size > 0)
      results.set(message, { names: [...lines.keys()], note: [calledByName, ...others].join('\n') })
  }
  const list = [...definitions.values()]
  if (list.length > deferredToolLimits.toolsMax) return null
  if (Buffer.byteLength(JSON.stringify(list)) > deferredToolLimits.maxBytes) return null
  return { definitions: list, results }
}
