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

/**
 * Notes for the model after the conversation at each step, based on its last messages; not part of the conversation.
 */
type Reminders = (messages: readonly PromptMessage[]) => readonly PromptText[]

/** One attempt at one run: its input, its progress, its callbacks and its abort signal. */
export interface RunAttempt {
  readonly inputHash: string
  readonly stepsUsed: number
  readonly hooks: RunHooks
  readonly signal: AbortSignal
  readonly mesh: RunMesh
}

/** The loop, model and tools of a run; requested for each run, because permissions change while the agent is running. */
export interface RunEquipment {
  readonly model: LanguageModel
  readonly tools: readonly Tool[]
  /** The sub-agents of this run; their tools are among `tools`. */
  readonly subagents?: LoopSubagents | undefined
  /** The agent's own loop, or that of its harness. */
  readonly runLoop: RunLoop
}

/** What the agent stores on disk and shares between runs. */
export interface RunStores {
  readonly sessions: Sessions
  readonly checkpoints: Checkpoints
  readonly learnings?: Learnings | undefined
  readonly images?: ImageStore | undefined
  /** Writes a line about the run into the day's log. Never rejects. */
  readonly recordRun: RecordRun
  /** Writes a line about a heartbeat, in a log that does not count as activity. Never rejects. */
  readonly recordHeartbeat: RecordRun
}

/** Rules for every run of the agent. */
export interface RunRules {
  readonly bounds: LoopBounds
  readonly clock: Clock
  readonly context: ContextKeeper
  readonly reminders?: Reminders | undefined
  /** Reads the learnings; omitted if the agent has no store of learnings. */
  readonly currentLearnings?: (() => Promise<PromptText>) | undefined
  /**
   * Reads the workspace again: the agent may have changed it since the last run. The learnings are the current ones,
   * except where the caller passes others.
   */
  systemPrompt(mode: PromptMode, learnings?: PromptText): Promise<PromptText>
}

/** Everything that a run of any kind works with; each part declares the ports that it needs. */
export type RunContext = RunAttempt & RunEquipment & RunStores & RunRules

/** A recorded message between two answers of a turn. */
export interface SaidBetween {
  /** Number of answers of the turn before this message. */
  readonly answers: number
  readonly text: PromptText
}

/** The instructions and bounds of one loop; everything else is the same for runs of every kind. */
export interface LoopWork {
  readonly systemPrompt: PromptText
  readonly bounds: RoundLimits
  /** What the run may spend in total, including its earlier turns, or null. */
  readonly spending: { readonly maxTokens: number | null; readonly maxCostUsd: number | null } | null
  readonly taskId: string | null
  /** Without a beginning, nothing in the conversation is trusted. */
  readonly beginning?: RunBeginning
  /** Whether an agent that ends its turn with the task open is reminded, once. */
  readonly remindsOfTask: boolean
  /** For a turn that replays a recorded one: the messages in the middle of that turn. */
  readonly said?: readonly SaidBetween[] | undefined
  /** How often an empty answer is requested again. */
  readonly emptyRetriesMax: number
}

/** Callbacks for observers of the loop. */
interface LoopWatch {
  readonly onFrame: (frame: ChatFrame) => void
  readonly onStep: (step: number) => void
}

/** What the loop (`run-loop.ts`) and its parts work with. */
export interface LoopDeps extends SteeringDeps {
  readonly work: LoopWork
  readonly watch: LoopWatch
  readonly model: LanguageModel
  /** Keeps the conversation within the model's window. */
  readonly context: ContextKeeper
  readonly tools: readonly Tool[]
  readonly learnings?: Learnings | undefined
  /** Stores the pictures of results; without a store, pictures are described in text. */
  readonly images?: ImageStore | undefined
  /** Sub-agents that the agent may start; absent if it may not. */
  readonly subagents?: LoopSubagents | undefined
  readonly clock: Clock
  readonly reminders?: Reminders | undefined
}

/** How the loop ended. Abortion is not an end: then the loop rejects with the signal's reason. */
export type LoopEnd =
  | { readonly kind: 'answered'; readonly text: string }
  | { readonly kind: 'completed'; readonly completion: TaskCompletion }
  | { readonly kind: 'failed'; readonly code: string; readonly detail: string }

export type RunLoop = (deps: LoopDeps, state: LoopState, signal: AbortSignal) => Promise<LoopEnd>

/** A running loop, as its sub-agents see it. */
export interface ParentLoop {
  readonly deps: LoopDeps
  readonly state: LoopState
  readonly signal: AbortSignal
}

/** The sub-agents of a loop: it calls `begin` before its first round and `end` after its last. */
export interface LoopSubagents {
  begin(parent: ParentLoop): void
  end(): Promise<void>
  /** A message about sub-agents lost in a crash; null if none were lost or they were already reported. */
  takeLost(): PromptText | null
  /**
   * A message about results that the parent has not read, before its turn ends; null if all were read or reported.
   */
  takeUnread(): PromptText | null
}

/** Pure. */
export function spendingOf(budget: TokenBudget | null): LoopWork['spending'] {
  return budget && { maxTokens: budget.max_tokens, maxCostUsd: budget.max_cost_usd }
}
