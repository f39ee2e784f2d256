import { randomUUID } from 'node:crypto'
import type { Clock } from '@flotilla/protocol/clock'
import type { JsonObject } from '@flotilla/protocol/json-value'
import type { Secret } from '@flotilla/egress/credentials'
import type {
  JudgeError,
  LlmProvider,
  ProviderOptions,
  ProviderReply,
  ProviderRequest,
} from '../llm-provider.ts'
import { printedBody } from '../formats/json-body.ts'
import { asksForThoughts, chatFromContents } from '../formats/contents/chat-from-contents.ts'
import { createContentsWriter } from '../formats/contents/contents-from-chat.ts'
import { chatFromResponse } from '../formats/responses/chat-from-response.ts'
import { createResponseWriter } from '../formats/responses/response-from-chat.ts'
import { readResponseTools } from '../formats/responses/response-tools.ts'
import { createMessageWriter } from '../formats/translate/message-from-chat.ts'
import { chatFromMessages } from '../formats/translate/messages-to-chat.ts'
import type { UsageRule } from '../formats/usage.ts'
import { rewrittenBody } from './rewritten-body.ts'
import type { AnswerWriter } from './rewritten-body.ts'

interface TranslationOptions {
  readonly clock: Pick<Clock, 'now'>
  /** Adapts a translated request to the provider. */
  readonly fit?: (request: JsonObject) => JsonObject
  /** How the provider reports usage. */
  readonly usage?: UsageRule
  readonly secrets?: readonly Secret[]
  /** The name of the provider, to which the signatures of its thinking are bound. */
  readonly from?: string
  /** Returns a new id with this beginning, as in `toolu_`. */
  readonly newId?: (start: string) => string
}

/** A request as a chat completion, and the writer that translates its answer back. */
interface Translation {
  readonly chat: JsonObject
  readonly writer: (judge: JudgeError | undefined) => AnswerWriter
}

/**
 * Adds messages, responses and Google's contents to a provider of chat completions: translates each call to a chat
 * completion and its answer back. Forms that the provider has itself stay as they are. Error replies pass unchanged.
 */
export function formsOverChat(provider: LlmProvider, options: TranslationOptions): LlmProvider {
  if (!provider.forms.has('chat')) return provider
  return {
    ...provider,
    forms: new Set([...provider.forms, ...translatedForms]),
    complete(request, bounds) {
      const form = translatedForms.find((one) => one === request.form && !provider.forms.has(one))
      if (form === undefined) return provider.complete(request, bounds)
      const translate = translations[form]
      return translated(request, bounds, translate(request, options))
    },
  }

  async function translated(
    request: ProviderRequest,
    bounds: ProviderOptions,
    { chat, writer }: Translation,
  ): Promise<ProviderReply> {
    const reply = await provider.complete(chatRequest(request, chat, options.fit), bounds)
    if (reply.status !== 200) return reply
    return {
      ...reply,
      contentType: request.stream ? 'text/event-stream' : 'application/json',
      body: rewrittenBody(
        reply.body,
        writer(bounds.judge),
        request.stream ? { spend: bounds.spend } : bounds,
      ),
    }
  }
}

const freshId = (start: string) => `${start}${randomUUID().replaceAll('-', '').slice(0, 24)}`

// The translations read the body and not the parameters, because only the body contains the bound on the answer.

function messagesTranslation(request: ProviderRequest, options: TranslationOptions): Translation {
  const { usage: rule = {}, secrets = [], from = '', newId = freshId } = options
  const { stream, model } = request
  return {
    chat: chatFromMessages(printedBody(request)),
    writer: (judge) =>
      createMessageWriter({ stream, model, rule, secrets, from, newId: () => newId('toolu_'), judge }),
  }
}

function responsesTranslation(request: ProviderRequest, options: TranslationOptions): Translation {
  const { clock, usage: rule = {}, secrets = [], from = '', newId = freshId } = options
  const { stream, model } = request
  const body = printedBody(request)
  const tools = readResponseTools(body['tools'])
  return {
    chat: chatFromResponse(body, tools),
    writer: (judge) => {
      const head = { id: newId('resp_'), model, createdSeconds: Math.floor(clock.now() / 1000) }
      return createResponseWriter({ stream, head, tools, rule, secrets, from, newId, judge })
    },
  }
}

function contentsTranslation(request: ProviderRequest, options: TranslationOptions): Translation {
  const { usage: rule = {}, secrets = [], from = '', newId = freshId } = options
  const { stream, model } = request
  const body = printedBody(request)
  return {
    chat: chatFromContents(body),
    writer: (judge) => {
      const head = { id: newId('resp_'), model }
      const showsThoughts = asksForThoughts(body)
      const newCallId = () => newId('call_')
      return createContentsWriter({
        stream,
        head,
        showsThoughts,
        rule,
        secrets,
        from,
        newId: newCallId,
        judge,
      })
    },
  }
}

const translatedForms = ['messages', 'responses', 'contents'] as const
const translations: Readonly<
  Record<
    (typeof translatedForms)[number],
    (request: ProviderRequest, options: TranslationOptions) => Translation
  >
> = { messages: messagesTranslation, responses: responsesTranslation, contents: contentsTranslation }

function chatRequest(
  request: ProviderRequest,
  chat: JsonObject,
  fit: TranslationOptions['fit'] = (whole) => whole,
): ProviderRequest {
  const { model: _model, ...parameters } = fit(chat)
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
