import type { JsonObject } from '@flotilla/protocol/json-value'
import type { PromptFound } from '../formats/prompt/prompt-found.ts'
import { wireLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import type { Caller, Guard } from '@flotilla/identity/access'
import { allowedModel } from './allowed-models.ts'
import type { AllowedModelsDeps } from './allowed-models.ts'
import type { CallParameters, NamedByPath } from '../formats/api-format.ts'
import { readCountOfContents } from '../formats/contents/contents-parameters.ts'
import { badRequest } from '../formats/json-body.ts'
import { readCountParameters } from '../formats/messages-parameters.ts'
import { problemFromRefusal, replyOf } from './provider-problem.ts'
import { withRemoteMedia } from './remote-media.ts'
import type { FetchMedia } from './remote-media.ts'
import { collect } from '../wire/collect-reply.ts'
import { serverToolTerms } from '../catalog/server-tools.ts'
import type { Hold } from './reply-body.ts'

export interface CountTokensDeps extends AllowedModelsDeps {
  readonly guard: Guard
  readonly fetchMedia: FetchMedia
}

export type CountTokens = (
  caller: Caller,
  input: {
    readonly body: Uint8Array
    readonly signal: AbortSignal
    readonly hold?: Hold
    readonly named?: NamedByPath
  },
) => Promise<{ readonly body: string }>

/** One public format of requests that count tokens. */
interface CountForm {
  readonly read: (
    body: Uint8Array,
    named?: NamedByPath,
  ) => Pick<CallParameters, 'model' | 'forwarded' | 'prompt'>
  /** True if providers that count tokens take this form. */
  readonly isCounted: boolean
  readonly answer: (tokens: number) => object
}

/** `/v1/messages/count_tokens`. */
export const countOfMessages: CountForm = {
  read: readCountParameters,
  isCounted: true,
  answer: (tokens) => ({ input_tokens: tokens }),
}

/** `/v1beta/models/{model}:countTokens`. */
export const countOfContents: CountForm = {
  read: (body, named) => {
    if (named === undefined) throw badRequest('the path must name a model')
    return readCountOfContents(body, named)
  },
  isCounted: false,
  answer: (tokens) => ({ totalTokens: tokens }),
}

/**
 * Counts the tokens of a prompt: by the provider if it can, otherwise estimated from the characters. Costs nothing and
 * is never retried. Throws the same Problems as a call, except those about money.
 */
export function createCountTokens(deps: CountTokensDeps, form: CountForm): CountTokens {
  return async (caller, { body, signal, hold, named }) => {
    deps.guard(caller, { do: 'call-api', api: 'llm' })
    if (caller.kind !== 'agent') throw new Problem('denied')
    if (body.length > wireLimits.modelBodyMaxBytes) {
      throw new Problem('body-too-large', { detail: `at most ${wireLimits.modelBodyMaxBytes} bytes` })
    }
    const parameters = form.read(body, named)
    const model = deps.catalog.find(allowedModel(deps, caller.agentId, parameters.model))
    serverToolTerms(model, parameters)
    const { forwarded, prompt } = await withRemoteMedia(deps, parameters, { caller, signal, hold })
    if (!form.isCounted || !model.llm.forms.has('token-count')) {
      return { body: JSON.stringify(form.answer(promptTokensAbout(forwarded, prompt))) }
    }
    const request = {
      form: 'token-count' as const,
      agentId: caller.agentId,
      model: model.model,
      stream: false,
      parameters: forwarded,
      body: JSON.stringify({ model: model.model, ...forwarded }),
    }
    const reply = await replyOf(model.llm.complete(request, { signal, hold }), model.provider)
    if (reply.status !== 200) throw await problemFromRefusal(reply, model)
    return { body: await collect(reply, { hold }, (text) => text) }
  }
}

/** The usual number of characters per token, and of tokens per picture. */
const charsPerToken = 4
const imageTokens = 1600

/** Estimates the tokens of a prompt for a provider that cannot count them. Pure. */
function promptTokensAbout(parameters: JsonObject, prompt: PromptFound): number {
  const chars = JSON.stringify(parameters).length - prompt.dataBytes
  return Math.ceil(chars / charsPerToken) + (prompt.images + prompt.documents) * imageTokens
}
