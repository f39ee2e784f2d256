import type { PromptMessage } from '../llm/language-model.ts'
import { freshState } from './loop-state.ts'
import type { LoopState } from './loop-state.ts'
import type { RoundCount } from './round-budget.ts'
import type { RunContext } from './run-context.ts'

/** Where the run was cut off, when it was and the same is asked again; else its beginning, already stored. */
export async function resumeState(
  context: RunContext,
  runId: string,
  begin: {
    messages: PromptMessage[]
    rounds: RoundCount
    flushed?: boolean
    tokens?: number
    costUsd?: number
  },
): Promise<LoopState> {
  const found = await context.checkpoints.load(runId)
  if (found?.inputHash === context.inputHash) return found
  const state = freshState({
    runId,
    inputHash: context.inputHash,
    startedAt: context.clock.now(),
    step: Math.max(context.stepsUsed, found?.step ?? 0),
    ...begin,
  })
  await context.checkpoints.save(state)
  return state
}
