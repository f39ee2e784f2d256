import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import { fingerprint } from '../loop/fingerprint.ts'
import type { LoopState } from '../loop/loop-state.ts'
import { stableJson } from '../loop/run-request.ts'

/** Results of successful calls that earlier attempts of this turn made; each is returned once. */
export interface EarlierResults {
  take(tool: string, paramsHash: string): PromptText | null
}

/**
 * Reads the calls of interrupted attempts from the checkpoint. A turn that begins has no such calls: results of earlier
 * turns are in the conversation, but not among the outputs of this turn.
 */
export function earlierResults({
  runId,
  messages,
  toolOutputs,
}: Pick<LoopState, 'runId' | 'messages' | 'toolOutputs'>): EarlierResults {
  const made = new Set(toolOutputs.filter(({ ok }) => ok).map(({ step }) => `${runId}:${step}`))
  const results = new Map<string, PromptText>()
  for (const message of messages) {
    if (message.role === 'tool' && made.has(message.toolCallId)) {
      results.set(message.toolCallId, message.content)
    }
  }
  const byCall = new Map<string, PromptText[]>()
  for (const message of messages) {
    if (message.role !== 'assistant') continue
    for (const { id, name, arguments: written } of message.toolCalls) {
      const result = results.get(id)
      const input = parsed(written)
      if (result === undefined || input === null) continue
      const key = `${name} ${fingerprint(stableJson(input))}`
      byCall.set(key, [...(byCall.get(key) ?? []), result])
    }
  }
  return {
    take: (tool, paramsHash) => byCall.get(`${tool} ${paramsHash}`)?.shift() ?? null,
  }
}

function parsed(written: string) {
  try {
    const value: unknown = JSON.parse(written)
    return isJsonObject(value) ? value : null
  } catch {
    return null
  }
}
