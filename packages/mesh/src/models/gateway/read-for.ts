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
 * What an agent thinks by comes in the normal form; its programs get what their provider wrote, unless that is a stream
 * where none was asked for, or the reverse, of which no official client makes anything.
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
 * The same call in the form that this model takes and caches: another model may have answered in its conversation before.
 * Only calls of the agent process are changed; its programs write for the model that they call. A question beside the
 * conversation is asked once, so nothing of it is stored.
 */
export function fittedCall(deps: ReadForDeps, caller: AgentCaller, call: AskedCall): AskedCall {
  const { model, parameters, purpose } = call
  const { forwarded } = parameters
  const { messages } = forwarded
  if (!isFromAgentProcess(deps, caller) || messages === undefined) return call
  const fitted = deps.onShareOf(caller.agentId, () => {
    // Before the history is fitted: a notice at the end, which the next call lacks, may become part of a user's message.
    const marked =
      purpose === 'aside' ? forwarded : withPromptCache(forwarded, model.promptCache, caller.agentId)
    const asked = Array.isArray(marked['messages']) ? marked['messages'] : messages
    const taken = fitHistory(asked, model.history)
    return fitTools(taken === asked ? marked : { ...marked, messages: taken })
  })
  return fitted === forwarded ? call : { ...call, parameters: { ...parameters, forwarded: fitted } }
}
