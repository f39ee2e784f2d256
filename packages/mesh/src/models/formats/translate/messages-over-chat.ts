import type { JsonObject } from '@flotilla/protocol/json-value'
import type {
  CallBounds,
  LlmProvider,
  ProviderOptions,
  ProviderReply,
  ProviderRequest,
} from '../../providers/llm-provider.ts'
import { collect, parsedAnswer } from '../../providers/collect-reply.ts'
import type { UsageRule } from '../usage.ts'
import { messageFromChat } from './chat-to-message.ts'
import { eventData } from './event-data.ts'
import { createMessageEvents } from './message-events.ts'
import { chatFromMessages } from './messages-to-chat.ts'

/**
 * The same provider, which now takes messages as well where it takes chats: each call is translated there and its
 * answer back. `fit` brings the translated request into the form that the provider takes, and `usage` is how it tells
 * what a call used. Refusals pass as they are.
 */
export function messagesOverChat(
  provider: LlmProvider,
  {
    fit = (request) => request,
    usage = {},
  }: { readonly fit?: (request: JsonObject) => JsonObject; readonly usage?: UsageRule } = {},
): LlmProvider {
  if (provider.forms.has('messages') || !provider.forms.has('chat')) return provider
  return {
    ...provider,
    forms: new Set([...provider.forms, 'messages']),
    complete: (request, options) =>
      request.form === 'messages' ? translated(request, options) : provider.complete(request, options),
  }

  async function translated(request: ProviderRequest, options: ProviderOptions): Promise<ProviderReply> {
    const reply = await provider.complete(chatRequest(request, fit), options)
    if (reply.status !== 200) return reply
    const read = (text: string) => messageFromChat(parsedAnswer(text), request.model, usage)
    const isStream = reply.contentType.includes('event-stream')
    return {
      ...reply,
      body: isStream ? streamed(reply, request.model, usage) : whole(reply, read, options),
    }
  }
}

function chatRequest(request: ProviderRequest, fit: (request: JsonObject) => JsonObject): ProviderRequest {
  const { model: _model, ...parameters } = fit(chatFromMessages(parsedBody(request)))
  return {
    form: 'chat',
    agentId: request.agentId,
    model: request.model,
    stream: request.stream,
    parameters,
    body: JSON.stringify({ model: request.model, ...parameters }),
  }
}

/** The bound on the answer stands in the body alone. */
function parsedBody({ body }: ProviderRequest): JsonObject {
  const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8')
  return JSON.parse(text) as JsonObject
}

async function* whole(
  reply: ProviderReply,
  read: (text: string) => object,
  bounds: CallBounds,
): AsyncGenerator<Uint8Array> {
  yield await collect(reply, bounds, (text) => Buffer.from(JSON.stringify(read(text))))
}

async function* streamed(reply: ProviderReply, model: string, rule: UsageRule): AsyncGenerator<Uint8Array> {
  const events = createMessageEvents(model, rule)
  for await (const data of eventData(reply.body)) {
    const text = events.take(data)
    if (text !== '') yield Buffer.from(text)
  }
  const text = events.rest()
  if (text !== '') yield Buffer.from(text)
}
