import type { ChatFrame } from '@flotilla/protocol/agent-api'
import type { Clock } from '@flotilla/protocol/clock'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { TokenBudget } from '@flotilla/protocol/task'
import type { ContextKeeper } from '../context/context-keeper.ts'
import type { ImageStore } from '../images/image-store.ts'
import type { Learnings } from '../learnings/learnings.ts'
import type { LanguageModel } from '../llm/language-model.ts'
import type { TaskCompletion, Tool } from '../tools/tool.ts'
import type { SteeringDeps } from './apply-steers.ts'
import type { LoopState } from './loop-state.ts'
import type { RoundLimits } from './round-budget.ts'
import type { RunBeginning } from './run-provenance.ts'

/** What THE loop (`run-loop.ts`) and its parts work with. */
export interface LoopDeps extends SteeringDeps {
  readonly model: LanguageModel
  /** Keeps the conversation within the model's window. */
  readonly context: ContextKeeper
  readonly tools: readonly Tool[]
  readonly systemPrompt: PromptText
  readonly bounds: RoundLimits
  /** What the run may spend in all, its earlier turns included, or null. */
  readonly spending: { readonly maxTokens: number | null; readonly maxCostUsd: number | null } | null
  readonly taskId: string | null
  /** Without it nothing in the conversation is trusted. */
  readonly beginning?: RunBeginning
  readonly learnings?: Learnings | undefined
  /** Where the pictures of results are; without it they are told of in words. */
  readonly images?: ImageStore | undefined
  /** Whether an agent that ends its turn with the task open is reminded, once. */
  readonly remindsOfTask: boolean
  /** How often an empty answer is asked for again. */
  readonly emptyRetriesMax: number
  /** Those that the agent may begin to work for it; without it there are none. */
  readonly subagents?: LoopSubagents | undefined
  readonly clock: Clock
  readonly onFrame: (frame: ChatFrame) => void
  readonly onStep: (step: number) => void
}

/** How the loop ended. Aborting is no end: then it rejects with the signal's reason. */
export type LoopEnd =
  | { readonly kind: 'answered'; readonly text: string }
  | { readonly kind: 'completed'; readonly completion: TaskCompletion }
  | { readonly kind: 'failed'; readonly code: string; readonly detail: string }

export type RunLoop = (deps: LoopDeps, state: LoopState, signal: AbortSignal) => Promise<LoopEnd>

/** A loop that is running, as its sub-agents see it. */
export interface ParentLoop {
  readonly deps: LoopDeps
  readonly state: LoopState
  readonly signal: AbortSignal
}

/** A loop's sub-agents, as the loop sees them: it calls `begin` before its first round and `end` after its last. */
export interface LoopSubagents {
  begin(parent: ParentLoop): void
  end(): Promise<void>
  /** What a crash has taken, to be said to the parent; null when nothing was, or when it was told. */
  takeLost(): PromptText | null
  /** Results that the parent has not read, to be said before its turn ends; null when there are none that it was not told of. */
  takeUnread(): PromptText | null
}

/** Pure. */
export function spendingOf(budget: TokenBudget | null): LoopDeps['spending'] {
  return budget && { maxTokens: budget.max_tokens, maxCostUsd: budget.max_cost_usd }
}
