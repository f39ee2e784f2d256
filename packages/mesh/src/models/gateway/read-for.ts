import type { NewId } from '@flotilla/protocol/ids'
import { fitHistory } from '../formats/history/fit-history.ts'
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
 * The same call, whose conversation this model takes: another may have answered in it before. Only of what an agent thinks
 * by, which is in the normal form; a program of its writes for the model that it asks.
 */
export function fittedCall(deps: ReadForDeps, caller: AgentCaller, call: AskedCall): AskedCall {
  const { model, parameters } = call
  const { messages } = parameters.forwarded
  if (!isFromAgentProcess(deps, caller) || messages === undefined) return call
  const fitted = deps.onShareOf(caller.agentId, () => fitHistory(messages, model.history))
  if (fitted === messages) return call
  return { ...call, parameters: { ...parameters, forwarded: { ...parameters.forwarded, messages: fitted } } }
}
