import type { LanguageModelV4GenerateResult } from '@ai-sdk/provider'
import { unmarked } from '@flotilla/protocol/json-as-written'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { chatUsageOf, finishReasonOf, tellsUsage } from './chat-envelope.ts'
import { createHeldThinking, detailOf, sealIn } from './sdk-reasoning.ts'
import type { SdkRules } from './sdk-rules.ts'
import type { ToolNames } from './tool-names.ts'

/** The members of a chat completion besides its answer. */
export interface ChatHead {
  readonly id: string
  readonly model: string
  readonly createdSeconds: number
}

/** Writes a whole answer as JSON text. Throws the Problem `upstream-failed` if it ended in an error. Pure. */
export function chatFromResult(
  result: LanguageModelV4GenerateResult,
  { head, rules, names }: { readonly head: ChatHead; readonly rules: SdkRules; readonly names: ToolNames },
): string {
  let text: string | null = null
  let thought = ''
  const details: JsonObject[] = []
  const calls: JsonObject[] = []
  const images: JsonObject[] = []
  const thinking = createHeldThinking(rules)
  for (const part of result.content) {
    const seal = 'providerMetadata' in part ? sealIn(part.providerMetadata, rules) : noSeal
    if (part.type === 'text') {
      details.push(...thinking.before(null))
      text = (text ?? '') + part.text
      if (seal.signature) details.push(detailOf({ sealed: seal.signature, rules }))
    } else if (part.type === 'reasoning') {
      thought += part.text
      const isHeld = rules.hasItems === true && seal.sealed !== null
      if (isHeld) thinking.hold(seal.sealed ?? '')
      const own = isHeld ? noSeal : seal
      if (!isHeld || part.text !== '')
        details.push(detailOf({ text: part.text, ...own, index: details.length, rules }))
    } else if (part.type === 'tool-call' && part.providerExecuted !== true) {
      details.push(...thinking.before(part.toolCallId))
      const call = { name: names.back(part.toolName), arguments: unmarked(part.input) }
      calls.push({ id: part.toolCallId, type: 'function', function: call })
      if (seal.signature) {
        details.push(detailOf({ sealed: seal.signature, callId: part.toolCallId, rules }))
      }
    } else if (part.type === 'file') images.push(imageOf(part))
  }
  const message = {
    role: 'assistant',
    content: text,
    refusal: null,
    ...(thought === '' ? {} : { reasoning_content: thought }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(images.length === 0 ? {} : { images }),
  }
  return JSON.stringify({
    id: result.response?.id ?? head.id,
    object: 'chat.completion',
    created: head.createdSeconds,
    model: head.model,
    choices: [
      {
        index: 0,
        message,
        logprobs: null,
        finish_reason: finishReasonOf(result.finishReason, calls.length > 0),
      },
    ],
    ...(tellsUsage(result.usage) ? { usage: chatUsageOf(result.usage) } : {}),
  })
}

const noSeal = { signature: null, sealed: null }

/** Converts a generated picture to an `image_url` part. */
export function imageOf(part: {
  readonly mediaType: string
  readonly data: { type: 'data'; data: Uint8Array | string } | { type: 'url'; url: URL }
}): JsonObject {
  if (part.data.type === 'url') return { type: 'image_url', image_url: { url: part.data.url.href } }
  const { data } = part.data
  const base64 = typeof data === 'string' ? data : Buffer.from(data).toString('base64')
  return { type: 'image_url', image_url: { url: `data:${part.mediaType};base64,${base64}` } }
}
