import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import { fingerprint } from '../loop/fingerprint.ts'
import type { LoopState } from '../loop/loop-state.ts'
import { stableJson } from '../loop/run-request.ts'

/** A call as the harness repeats it. */
interface SameCall {
  readonly tool: string
  /** Fingerprint of the input. */
  readonly paramsHash: string
}

interface EarlierResult {
  readonly output: PromptText
  readonly ok: boolean
}

/** Results of calls that the harness did not get, or that an earlier attempt of this turn got; each is returned once. */
export interface EarlierResults {
  take(call: SameCall): EarlierResult | null
  /** Keeps the result of a call whose answer did not reach the harness. */
  keep(call: SameCall, result: EarlierResult): void
}

/**
 * Reads the calls of interrupted attempts from the checkpoint, successful or not: a failed call may have had an effect.
 * A turn that begins has no such calls: results of earlier turns are in the conversation, but not among the outputs of
 * this turn.
 */
export function earlierResults({
  runId,
  messages,
  toolOutputs,
}: Pick<LoopState, 'runId' | 'messages' | 'toolOutputs'>): EarlierResults {
  const made = new Map(toolOutputs.map(({ step, ok }) => [`${runId}:${step}`, ok]))
  const results = new Map<string, EarlierResult>()
  for (const message of messages) {
    if (message.role !== 'tool') continue
    const ok = made.get(message.toolCallId)
    if (ok !== undefined) results.set(message.toolCallId, { output: message.content, ok })
  }
  const byCall = new Map<string, EarlierResult[]>()
  const keep = (call: SameCall, result: EarlierResult): void => {
    byCall.set(nameOf(call), [...(byCall.get(nameOf(call)) ?? []), result])
  }
  for (const message of messages) {
    if (message.role !== 'assistant') continue
    for (const { id, name, arguments: written } of message.toolCalls) {
      const result = results.get(id)
      const input = parsed(written)
      if (result === undefined || input === null) continue
      keep({ tool: name, paramsHash: fingerprint(stableJson(input)) }, result)
    }
  }
  return { take: (call) => byCall.get(nameOf(call))?.shift() ?? null, keep }
}

function nameOf({ tool, paramsHash }: SameCall): string {
  return `${tool} ${paramsHash}`
}

function parsed(written: string) {
  try {
    const value: unknown = JSON.parse(written)
    return isJsonObject(value) ? value : null
  } catch {
    return null
  }
}
