import { randomUUID } from 'node:crypto'
import type { JsonObject } from '@flotilla/protocol/json-value'
import type { LlmProvider, ProviderOptions, ProviderReply, ProviderRequest } from '../llm-provider.ts'
import { rewrittenBody } from './rewritten-body.ts'
import type { Secret } from '@flotilla/egress/credentials'
import { printedBody } from '../formats/json-body.ts'
import type { UsageRule } from '../formats/usage.ts'
import { createMessageWriter } from '../formats/translate/message-from-chat.ts'
import { chatFromMessages } from '../formats/translate/messages-to-chat.ts'

/**
 * Adds messages to a provider of chat completions: translates each call to a chat completion and its answer back.
 * `fit` adapts the translated request to the provider, and `usage` describes how the provider reports usage. Error
 * replies pass unchanged.
 */
export function messagesOverChat(
  provider: LlmProvider,
  {
    fit = (request) => request,
    usage = {},
    secrets = [],
    from = '',
    newId = () => `toolu_${randomUUID().replaceAll('-', '').slice(0, 24)}`,
  }: {
    readonly fit?: (request: JsonObject) => JsonObject
    readonly usage?: UsageRule
    readonly secrets?: readonly Secret[]
    /** The name of the provider, to which the signatures of its thinking are bound. */
    readonly from?: string
    readonly newId?: () => string
  } = {},
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
    const writer = createMessageWriter({
      stream: request.stream,
      model: request.model,
      rule: usage,
      secrets,
      from,
      newId,
    })
    return {
      ...reply,
      contentType: request.stream ? 'text/event-stream' : 'application/json',
      body: rewrittenBody(reply.body, writer, request.stream ? {} : options),
    }
  }
}

/** Translates a request from its body, because only the body contains the bound on the answer. */
function chatRequest(request: ProviderRequest, fit: (request: JsonObject) => JsonObject): ProviderRequest {
  const { model: _model, ...parameters } = fit(chatFromMessages(printedBody(request)))
  return {
    form: 'chat',
    agentId: request.agentId,
    model: request.model,
    stream: request.stream,
    mayFit: true,
    parameters,
    body: JSON.stringify({ model: request.model, ...parameters }),
  }
}
