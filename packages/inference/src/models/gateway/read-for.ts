import type { NewId } from '@flotilla/protocol/ids'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { fitTools } from '../formats/translate/fit-tools.ts'
import { withFewTools } from '../formats/translate/tool-limits.ts'
import { withoutDeferredTools } from '../formats/deferred-tools.ts'
import { fitHistory } from '../formats/history/fit-history.ts'
import { asksForAnHour, withPromptCache } from '../formats/prompt-cache.ts'
import { createNormalWriter, normalReply } from '../formats/answer/normal-reply.ts'
import type { NormalReplyOptions } from '../formats/answer/normal-reply.ts'
import type { ProviderReply } from '../llm-provider.ts'
import { eventsOrNormal } from './events-or-normal.ts'
import { isFromAgentProcess } from './open-call.ts'
import type { AgentCaller, AskedCall, OpenCallDeps, Opened } from './open-call.ts'
import { judgeOf } from './provider-problem.ts'
import type { CacheTime } from '../formats/prompt-cache.ts'
import { prefixOf } from '../formats/prompt-prefix.ts'
import type { PrefixBreak } from '../formats/prompt-prefix.ts'
import type { PromptPace } from './prompt-pace.ts'
import type { RunChoiceDeps } from './run-choice.ts'

export interface ReadForDeps extends OpenCallDeps, PacedCallDeps {
  readonly newId: NewId
}

/**
 * Converts a reply for its reader. The agent process gets the normal form. Programs in its container get the
 * provider's bytes if these have the requested form, because official clients can read no other form.
 */
export function readFor(
  deps: ReadForDeps,
  caller: AgentCaller,
  { reply, opened }: { readonly reply: ProviderReply; readonly opened: Opened },
): ProviderReply {
  if (deps.apiFormat.form !== 'chat') return reply
  const options = normalOptions(deps, opened)
  if (isFromAgentProcess(deps, caller)) return normalReply(reply, options)
  if (options.stream) return eventsOrNormal(reply, (odd) => normalReply(odd, options))
  return reply.contentType.includes('event-stream') ? normalReply(reply, options) : reply
}

/** Rewrites the text of a whole chat completion that an official client cannot read; null for other forms. */
export function rewriterFor(deps: ReadForDeps, opened: Opened): ((text: string) => string) | null {
  if (deps.apiFormat.form !== 'chat') return null
  return (text) => {
    let written = ''
    const writer = createNormalWriter(normalOptions(deps, opened), (piece) => (written += piece))
    writer.take(Buffer.from(text))
    writer.end()
    return written
  }
}

function normalOptions(deps: ReadForDeps, { model, request, bounds }: Opened): NormalReplyOptions {
  return {
    stream: request.stream,
    model: model.model,
    from: model.provider,
    secrets: model.secrets,
    newId: () => deps.newId('call'),
    createdSeconds: Math.floor(deps.clock.now() / 1000),
    bounds,
    judge: judgeOf(model),
  }
}

/**
 * Fits a call to the history and cache rules of this model: another model may have answered in the conversation
 * before. Only calls of the agent process are changed; programs write for the model that they call. A question beside
 * the conversation is asked once, so it gets no cache marks.
 */
export function fittedCall(deps: ReadForDeps, caller: AgentCaller, asked: AskedCall): AskedCall {
  const call = withTakenTools(deps, caller, asked)
  const { model, parameters, purpose } = call
  const { forwarded } = parameters
  const { messages } = forwarded
  const isKept = (sent: JsonObject) => deps.onShareOf(caller.agentId, () => asksForAnHour(sent))
  if (messages === undefined) return call
  if (!isFromAgentProcess(deps, caller)) {
    return isKept(forwarded) ? { ...call, cache: { isForAnHour: true, broken: null } } : call
  }
  const { keep, broken } = pacedCall(deps, caller, call)
  const fitted = deps.onShareOf(caller.agentId, () => {
    // Marks come first: fitting may merge a notice, which the next call lacks, into the last user message.
    const marked =
      purpose === 'aside'
        ? forwarded
        : withPromptCache(forwarded, model.promptCache, { agentId: caller.agentId, keep })
    const history = Array.isArray(marked['messages']) ? marked['messages'] : messages
    const taken = fitHistory(history, model.history)
    const { tools } = model.history
    const few = withFewTools(taken === history ? marked : { ...marked, messages: taken }, tools.max)
    return fitTools(few, tools)
  })
  const cache = { isForAnHour: isKept(fitted), broken }
  return {
    ...call,
    cache,
    ...(fitted === forwarded ? {} : { parameters: { ...parameters, forwarded: fitted } }),
  }
}

/** Leaves the members about found tools in calls of the agent process to models that take deferred tools. */
function withTakenTools(deps: ReadForDeps, caller: AgentCaller, call: AskedCall): AskedCall {
  const { model, parameters } = call
  if (model.history.takesDeferredTools && isFromAgentProcess(deps, caller)) return call
  const forwarded = withoutDeferredTools(parameters.forwarded)
  return forwarded === parameters.forwarded ? call : { ...call, parameters: { ...parameters, forwarded } }
}

interface PacedCallDeps extends Pick<RunChoiceDeps, 'workOf'>, Pick<OpenCallDeps, 'onShareOf' | 'clock'> {
  readonly pace: PromptPace
}

/**
 * Chooses how long the provider caches the prompt of a call, and says why its cache of the previous prompt may not
 * apply. Calls of sub-agents, whose conversations are short, get five minutes.
 */
function pacedCall(
  deps: PacedCallDeps,
  caller: AgentCaller,
  { model, parameters, purpose }: AskedCall,
): { readonly keep: CacheTime; readonly broken: PrefixBreak | null } {
  const runId = caller.run?.runId
  const work = runId === undefined || purpose !== 'loop' ? null : (deps.workOf?.(runId) ?? null)
  if (runId === undefined || work === null) return { keep: '5m', broken: null }
  const { forwarded } = parameters
  const prefix = deps.onShareOf(caller.agentId, () =>
    prefixOf(model.id, forwarded, { withOptions: model.promptCache.by === 'marks' }),
  )
  const { agentId } = caller
  const conversation = `${agentId} ${work.conversation}`
  return deps.pace.sees({ agentId, conversation, runId, prefix, willWait: work.willWait() }, deps.clock.now())
}
