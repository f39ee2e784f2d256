import type { NewId } from '@flotilla/protocol/ids'
import { fitTools } from '../formats/translate/fit-tools.ts'
import { fitHistory } from '../formats/history/fit-history.ts'
import { withPromptCache } from '../formats/prompt-cache.ts'
import { normalReply } from '../formats/answer/normal-reply.ts'
import type { ProviderReply } from '../providers/llm-provider.ts'
import { isFromAgentProcess } from './open-call.ts'
import type { AgentCaller, AskedCall, OpenCallDeps, Opened } from './open-call.ts'
import { refusalInBody } from './provider-problem.ts'

export interface ReadForDeps extends OpenCallDeps {
  readonly newId: NewId
}

/**
 * The agent process gets answers in the normal form. Programs in its container get the provider's bytes, unless the
 * provider answered a plain request by a stream or the reverse, which no official client can read.
 */
export function readFor(
  deps: ReadForDeps,
  caller: AgentCaller,
  { reply, opened }: { readonly reply: ProviderReply; readonly opened: Opened },
): ProviderReply {
  const { model, request, bounds } = opened
  const isAsAsked = request.stream === reply.contentType.includes('event-stream')
  if (deps.apiFormat.form !== 'chat' || (isAsAsked && !isFromAgentProcess(deps, caller))) return reply
  return normalReply(reply, {
    stream: request.stream,
    model: model.model,
    from: model.provider,
    secrets: model.secrets,
    newId: () => deps.newId('call'),
    createdSeconds: Math.floor(deps.clock.now() / 1000),
    bounds,
    judge: (answer) => refusalInBody(answer, { by: model, where: 'stream' })?.problem ?? null,
  })
}

/**
 * Fits a call to the history and cache rules of this model: another model may have answered in the conversation
 * before. Only calls of the agent process are changed; programs write for the model that they call. A question beside
 * the conversation is asked once, so it gets no cache marks.
 */
export function fittedCall(deps: ReadForDeps, caller: AgentCaller, call: AskedCall): AskedCall {
  const { model, parameters, purpose } = call
  const { forwarded } = parameters
  const { messages } = forwarded
  if (!isFromAgentProcess(deps, caller) || messages === undefined) return call
  const fitted = deps.onShareOf(caller.agentId, () => {
    // Marks come first: fitting may merge a notice, which the next call lacks, into the last user message.
    const marked =
      purpose === 'aside' ? forwarded : withPromptCache(forwarded, model.promptCache, caller.agentId)
    const asked = Array.isArray(marked['messages']) ? marked['messages'] : messages
    const taken = fitHistory(asked, model.history)
    return fitTools(taken === asked ? marked : { ...marked, messages: taken })
  })
  return fitted === forwarded ? call : { ...call, parameters: { ...parameters, forwarded: fitted } }
}
