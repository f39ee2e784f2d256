import type { LanguageModelV4StreamPart, SharedV4ProviderMetadata } from '@ai-sdk/provider'
import { unmarked } from '@flotilla/protocol/json-as-written'
import { chatUsageOf, finishReasonOf, tellsUsage } from './chat-envelope.ts'
import { imageOf } from './chat-from-result.ts'
import type { ChatHead } from './chat-from-result.ts'
import { createHeldThinking, detailOf, sealIn } from './sdk-reasoning.ts'
import type { SdkRules } from './sdk-rules.ts'
import type { ToolNames } from './tool-names.ts'

/** Writes the events of a streamed chat completion. One per stream. */
interface ChatChunks {
  /** Converts one part to events. Throws the provider's error if the part is an error. */
  take(part: LanguageModelV4StreamPart): string
  hasEnded(): boolean
}

interface OpenCall {
  readonly index: number
  hasArguments: boolean
}

export function createChatChunks(at: {
  readonly head: ChatHead
  readonly rules: SdkRules
  readonly names: ToolNames
}): ChatChunks {
  const { rules, names } = at
  let id = at.head.id
  let hasBegun = false
  let hasEnded = false
  let blocks = 0
  const blockOf = new Map<string, number>()
  const calls = new Map<string, OpenCall>()
  const thinking = createHeldThinking(rules)

  function chunk(delta: object, finish: string | null = null): string {
    const role = hasBegun ? {} : { role: 'assistant' }
    hasBegun = true
    return event({
      ...envelope(),
      choices: [{ index: 0, delta: { ...role, ...delta }, logprobs: null, finish_reason: finish }],
    })
  }

  function envelope(): object {
    const { createdSeconds: created, model } = at.head
    return { id, object: 'chat.completion.chunk', created, model }
  }

  function think(blockId: string, text: string, metadata: SharedV4ProviderMetadata | undefined): string {
    const { signature, sealed: found } = sealIn(metadata, rules)
    const sealed = rules.hasItems === true ? null : found
    if (sealed === null && found !== null) thinking.hold(found)
    if (text === '' && signature === null && sealed === null) return ''
    const known = blockOf.get(blockId)
    const index = known ?? blocks++
    if (known === undefined) blockOf.set(blockId, index)
    return chunk({
      ...(text === '' ? {} : { reasoning_content: text }),
      reasoning_details: [detailOf({ text, signature, sealed, index, rules })],
    })
  }

  function sealText(metadata: SharedV4ProviderMetadata | undefined): string {
    const { signature } = sealIn(metadata, rules)
    return signature === null ? '' : chunk({ reasoning_details: [detailOf({ sealed: signature, rules })] })
  }

  function thinkingBefore(callId: string | null): string {
    const details = thinking.before(callId)
    return details.length === 0 ? '' : chunk({ reasoning_details: details })
  }

  function openCall(callId: string, name: string): string {
    const thought = thinkingBefore(callId)
    const index = calls.size
    calls.set(callId, { index, hasArguments: false })
    const call = { index, id: callId, type: 'function', function: { name: names.back(name), arguments: '' } }
    return thought + chunk({ tool_calls: [call] })
  }

  function write(callId: string, text: string): string {
    const call = calls.get(callId)
    if (!call || text === '') return ''
    call.hasArguments = true
    return chunk({ tool_calls: [{ index: call.index, function: { arguments: unmarked(text) } }] })
  }

  function callPart(part: Extract<LanguageModelV4StreamPart, { type: 'tool-call' }>): string {
    if (part.providerExecuted === true) return ''
    const opened = calls.has(part.toolCallId) ? '' : openCall(part.toolCallId, part.toolName)
    const whole = calls.get(part.toolCallId)?.hasArguments === true ? '' : write(part.toolCallId, part.input)
    const { signature } = sealIn(part.providerMetadata, rules)
    const seal =
      signature === null
        ? ''
        : chunk({ reasoning_details: [detailOf({ sealed: signature, callId: part.toolCallId, rules })] })
    return opened + whole + seal
  }

  function finish(part: Extract<LanguageModelV4StreamPart, { type: 'finish' }>): string {
    hasEnded = true
    const reason = finishReasonOf(part.finishReason, calls.size > 0)
    const usage = tellsUsage(part.usage)
      ? event({ ...envelope(), choices: [], usage: chatUsageOf(part.usage) })
      : ''
    return `${chunk({}, reason)}${usage}data: [DONE]\n\n`
  }

  return {
    hasEnded: () => hasEnded,
    take(part) {
      switch (part.type) {
        case 'response-metadata':
          if (!hasBegun && part.id !== undefined) id = part.id
          return ''
        case 'text-start':
          return thinkingBefore(null) + sealText(part.providerMetadata)
        case 'text-end':
          return sealText(part.providerMetadata)
        case 'text-delta':
          return (part.delta === '' ? '' : chunk({ content: part.delta })) + sealText(part.providerMetadata)
        case 'reasoning-start':
        case 'reasoning-end':
          return think(part.id, '', part.providerMetadata)
        case 'reasoning-delta':
          return think(part.id, part.delta, part.providerMetadata)
        case 'tool-input-start':
          return part.providerExecuted === true ? '' : openCall(part.id, part.toolName)
        case 'tool-input-delta':
          return write(part.id, part.delta)
        case 'tool-call':
          return callPart(part)
        case 'file':
          return chunk({ images: [imageOf(part)] })
        case 'finish':
          return finish(part)
        case 'error':
          throw part.error
        case 'stream-start':
        case 'tool-input-end':
        case 'tool-result':
        case 'tool-approval-request':
        case 'reasoning-file':
        case 'source':
        case 'custom':
        case 'raw':
        case 'ping':
          // A chat completion has no place for sources, warnings, and tool calls that the provider made itself.
          return ''
      }
    },
  }
}

function event(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`
}
