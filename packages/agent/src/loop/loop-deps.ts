import type { ChatFrame } from '@flotilla/protocol/agent-api'
import type { Clock } from '@flotilla/protocol/clock'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { TokenBudget } from '@flotilla/protocol/task'
import type { ContextKeeper } from '../context/context-keeper.ts'
import type { RecordRun } from '../context/record-run.ts'
import type { ImageStore } from '../images/image-store.ts'
import type { Learnings } from '../learnings/learnings.ts'
import type { LanguageModel, PromptMessage } from '../llm/language-model.ts'
import type { RunMesh } from '../mesh/run-mesh.ts'
import type { PromptMode } from '../prompt/build-system-prompt.ts'
import type { TaskCompletion, Tool } from '../tools/tool.ts'
import type { RunHooks } from './active-run.ts'
import type { SteeringDeps } from './apply-steers.ts'
import type { LoopState } from './loop-state.ts'
import type { RoundLimits } from './round-budget.ts'
import type { Checkpoints } from './run-files.ts'
import type { RunBeginning } from './run-provenance.ts'
import type { Sessions } from './sessions.ts'

/** Bounds of the loop, from the environment, already within their range. */
export interface LoopBounds {
  readonly taskIterationsMax: number
  readonly chatRoundsPerTurnMax: number
  readonly chatRoundsPerSessionMax: number
}

/** What the model is told behind the conversation at each step, given what it did last; no part of it. */
type Reminders = (messages: readonly PromptMessage[]) => readonly PromptText[]

/** One attempt at one run: what was asked, how far it had come, whom it tells and what ends it. */
export interface RunAttempt {
  readonly inputHash: string
  readonly stepsUsed: number
  readonly hooks: RunHooks
  readonly signal: AbortSignal
  readonly mesh: RunMesh
}

/** What a run thinks and acts with; asked anew for each, since rights change while the agent lives. */
export interface RunEquipment {
  readonly model: LanguageModel
  readonly tools: readonly Tool[]
  /** Of this run; its tools are among `tools`. */
  readonly subagents?: LoopSubagents | undefined
}

/** What the agent has on its disk and takes from run to run. */
export interface RunStores {
  readonly sessions: Sessions
  readonly checkpoints: Checkpoints
  readonly learnings?: Learnings | undefined
  readonly images?: ImageStore | undefined
  /** Writes a line about the run into the day's log. Never rejects. */
  readonly recordRun: RecordRun
  /** The same for a heartbeat, in a log that is no sign of activity. Never rejects. */
  readonly recordHeartbeat: RecordRun
}

/** How every run of the agent goes. */
export interface RunRules {
  readonly bounds: LoopBounds
  readonly clock: Clock
  readonly context: ContextKeeper
  readonly reminders?: Reminders | undefined
  /** Reads the workspace anew: the agent may have changed it since the last run. */
  systemPrompt(mode: PromptMode): Promise<PromptText>
}

/** What one run of any kind works with; a part of it asks for the ports that it needs. */
export type RunContext = RunAttempt & RunEquipment & RunStores & RunRules

/** Something that a record has between two answers of a turn. */
export interface SaidBetween {
  /** Answers of the turn before it. */
  readonly answers: number
  readonly text: PromptText
}

/** What is asked of one loop, and what of it is bounded; the rest runs of every kind have alike. */
export interface LoopWork {
  readonly systemPrompt: PromptText
  readonly bounds: RoundLimits
  /** What the run may spend in all, its earlier turns included, or null. */
  readonly spending: { readonly maxTokens: number | null; readonly maxCostUsd: number | null } | null
  readonly taskId: string | null
  /** Without it nothing in the conversation is trusted. */
  readonly beginning?: RunBeginning
  /** Whether an agent that ends its turn with the task open is reminded, once. */
  readonly remindsOfTask: boolean
  /** Of a turn that plays a recorded one: what was said in that one's middle. */
  readonly said?: readonly SaidBetween[] | undefined
  /** How often an empty answer is asked for again. */
  readonly emptyRetriesMax: number
}

/** Whoever watches the loop. */
interface LoopWatch {
  readonly onFrame: (frame: ChatFrame) => void
  readonly onStep: (step: number) => void
}

/** What THE loop (`run-loop.ts`) and its parts work with. */
export interface LoopDeps extends SteeringDeps {
  readonly work: LoopWork
  readonly watch: LoopWatch
  readonly model: LanguageModel
  /** Keeps the conversation within the model's window. */
  readonly context: ContextKeeper
  readonly tools: readonly Tool[]
  readonly learnings?: Learnings | undefined
  /** Where the pictures of results are; without it they are told of in words. */
  readonly images?: ImageStore | undefined
  /** Those that the agent may begin to work for it; without it there are none. */
  readonly subagents?: LoopSubagents | undefined
  readonly clock: Clock
  readonly reminders?: Reminders | undefined
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
export function spendingOf(budget: TokenBudget | null): LoopWork['spending'] {
  return budget && { maxTokens: budget.max_tokens, maxCostUsd: budget.max_cost_usd }
}
