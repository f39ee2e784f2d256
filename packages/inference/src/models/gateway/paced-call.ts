import type { CacheTime } from '../formats/prompt-cache.ts'
import { prefixOf } from '../formats/prompt-prefix.ts'
import type { PrefixBreak } from '../formats/prompt-prefix.ts'
import type { AgentCaller, AskedCall, OpenCallDeps } from './open-call.ts'
import type { PromptPace } from './prompt-pace.ts'
import type { RunChoiceDeps } from './run-choice.ts'

export interface PacedCallDeps
  extends Pick<RunChoiceDeps, 'workOf'>, Pick<OpenCallDeps, 'onShareOf' | 'clock'> {
  readonly pace: PromptPace
}

/**
 * Chooses how long the provider caches the prompt of a call, and says why its cache of the previous prompt may not
 * apply. Calls of sub-agents, whose conversations are short, get five minutes.
 */
export function pacedCall(
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
