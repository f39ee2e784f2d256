import type { AnswerSettings, Settings, ThinkingEffort } from '@flotilla/foundation/config'
import { answerKinds } from '@flotilla/foundation/config'
import { asideAnswerTokensMax } from '@flotilla/protocol/aside-call'
import type { RunKind } from '@flotilla/protocol/run'
import type { RunQueries } from '@flotilla/work/runs'
import type { CatalogModel } from '../catalog/model-catalog.ts'
import { resolveModel } from '../catalog/resolve-model.ts'
import type { CallParameters } from '../formats/api-format.ts'
import type { CallPurpose } from '../llm-provider.ts'
import { usableModel } from './allowed-models.ts'
import type { FallbackDeps } from './allowed-models.ts'
import { isFromAgentProcess } from './open-call.ts'
import type { AgentCaller, OpenCallDeps } from './open-call.ts'

/** What the gateway needs to know about a run. */
export interface RunWork {
  readonly kind: RunKind
  /** The kind of the run with its chat session or task: the runs of one conversation have the same text. */
  readonly conversation: string
  /** True if the run will wait for child tasks, approvals, or questions to a person. */
  readonly willWait: () => boolean
}

/** Returns the work of a run; null if the run is unknown. */
export type WorkOf = (runId: string) => RunWork | null

export interface RunChoiceDeps extends FallbackDeps, Pick<OpenCallDeps, 'apiFormat'> {
  readonly workOf?: WorkOf | undefined
}

/** One model call of an agent process: the agent that makes it, and its purpose. */
export interface ChosenCall {
  readonly caller: AgentCaller
  readonly purpose: CallPurpose
}

/**
 * Returns the purpose of a call. The agent states it, and a taken-over agent may state a false one: a question beside
 * the conversation gets the model that the owner chose for summaries and no answer settings. Therefore only a call
 * without tools and with a short answer is one; every other call is part of the conversation. Pure.
 */
export function purposeOf(
  stated: CallPurpose,
  { forwarded, maxTokens, answers }: Pick<CallParameters, 'forwarded' | 'maxTokens' | 'answers'>,
): CallPurpose {
  if (stated !== 'aside') return stated
  const isShort = maxTokens !== null && maxTokens.value <= asideAnswerTokensMax && answers === 1
  return isShort && forwarded['tools'] === undefined ? 'aside' : 'loop'
}

/** Returns the kind of run that a call of an agent process belongs to; null for calls of programs. */
export function runKindOf(deps: RunChoiceDeps, { caller }: ChosenCall): RunKind | null {
  const runId = caller.run?.runId
  return runId !== undefined && isFromAgentProcess(deps, caller) ? (deps.workOf?.(runId)?.kind ?? null) : null
}

/**
 * Puts the model that the owner chose for this kind of call before the agent's own model and its fallbacks. These
 * answer if the chosen model is not configured, may have too small a context window for the prompt, or fails.
 */
export function withChosenModel(
  deps: RunChoiceDeps,
  call: ChosenCall,
  own: { readonly chain: readonly CatalogModel[]; readonly bodyBytes: number },
): readonly CatalogModel[] {
  const model = chosenModel(deps, call)
  if (model === null || !mayFit(model, own.bodyBytes)) return own.chain
  return [model, ...own.chain.filter((one) => one !== model)]
}

function chosenModel(deps: RunChoiceDeps, call: ChosenCall): CatalogModel | null {
  const { heartbeat, compaction } = deps.settings().models
  const kind = runKindOf(deps, call)
  const chosen =
    kind === null
      ? undefined
      : call.purpose === 'aside'
        ? compaction
        : kind === 'heartbeat'
          ? heartbeat
          : undefined
  const name = chosen === undefined ? null : resolveModel(chosen, deps.catalog.defaultProvider())
  if (name === null || name.model === '*') return null
  return usableModel(deps, name)
}

/**
 * The assumed minimum bytes of a prompt per token, to estimate whether a prompt fits into the window of the chosen
 * model; if it may not fit, the agent's own model gets the call.
 */
const bytesPerTokenMin = 3

function mayFit(model: CatalogModel, bodyBytes: number): boolean {
  return (
    bodyBytes / bytesPerTokenMin + Math.min(model.defaultMaxTokens, model.windowTokens / 4) <=
    model.windowTokens
  )
}

/** Models that think even if the call does not request it, and that accept a lower effort. */
const thinksUnasked = /(?:^|\/)(?:o[134](?:-|$)|gpt-5|gemini-(?:2\.5|[3-9]))/
const heartbeatThinking: ThinkingEffort = 'low'

/** Adds the owner's settings of answers in this kind of run to a call for one model. */
export function withAnswerSettings(
  deps: RunChoiceDeps,
  call: ChosenCall & { readonly model: CatalogModel },
  parameters: CallParameters,
): CallParameters {
  const kind = runKindOf(deps, call)
  if (kind === null || call.purpose === 'aside') return parameters
  const settings = answerSettingsOf(deps.settings(), call.caller.agentId, kind)
  const usual = kind === 'heartbeat' && thinksUnasked.test(call.model.model) ? heartbeatThinking : undefined
  const { thinking = usual, max_output_tokens: max } = settings
  const { maxTokens, forwarded } = parameters
  const isRequested = 'reasoning_effort' in forwarded || 'reasoning' in forwarded
  const isLower = max !== undefined && max < (maxTokens?.value ?? Infinity)
  if ((thinking === undefined || isRequested) && !isLower) return parameters
  return {
    ...parameters,
    ...(isLower ? { maxTokens: { field: maxTokens?.field ?? call.model.boundField, value: max } } : {}),
    ...(thinking === undefined || isRequested
      ? {}
      : { forwarded: { ...forwarded, reasoning_effort: thinking } }),
  }
}

/**
 * Returns the answer settings for this kind of run: the agent's own, and those of the fleet for each missing one.
 * Pure.
 */
export function answerSettingsOf(
  { agents, answers }: Pick<Settings, 'agents' | 'answers'>,
  agentId: string,
  kind: RunKind,
): AnswerSettings {
  const known = answerKinds.find((one) => one === kind)
  if (known === undefined) return {}
  const own = Object.hasOwn(agents, agentId) ? agents[agentId]?.answers?.[known] : undefined
  return { ...answers[known], ...own }
}

/** Returns the kind, the conversation and the waits of a run; null if the run is unknown. */
export function workOf(queries: Pick<RunQueries, 'find' | 'waitsOf'>, runId: string): RunWork | null {
  const run = queries.find(runId)
  if (run === null) return null
  const { input } = run
  const place = input.kind === 'chat' ? input.session : input.kind === 'task' ? input.task_id : ''
  return {
    kind: run.kind,
    conversation: `${run.kind} ${place}`,
    willWait: () => queries.waitsOf(runId).length > 0,
  }
}
