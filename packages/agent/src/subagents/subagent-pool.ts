import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { Log } from '@flotilla/protocol/json-log'
import type { LoopSubagents, RunLoop } from '../loop/loop-deps.ts'
import type { Trust } from '../memory/trust.ts'
import type { ExclusiveUse } from '../tools/exclusive-use.ts'
import type { SubagentView } from './subagent.ts'

export interface SubagentPoolDeps {
  /** Of the loop whose sub-agents these are: 0 for the agent's own. */
  readonly depth: number
  /** THE loop, which each sub-agent is once more. */
  readonly runLoop: RunLoop
  readonly systemPrompt: () => Promise<PromptText>
  readonly exclusive: ExclusiveUse
  readonly log: Log
}

/**
 * The sub-agents of one loop.
 *
 * - **C1** A loop has `concurrentMax` living sub-agents at most; a loop at `depthMax` has none and no tool to begin any.
 * - **C2** No sub-agent outlives the loop that began it: `end` stops them all and waits until they have let go.
 * - **C3** What a sub-agent uses is its parent's use, as soon as it is used, up to the run's own.
 * - **C4** None is begun twice. Those that a crash has ended are told to the parent as of unknown outcome.
 * - **C5** A turn does not end over unread results before its agent was told of them, once.
 */
export interface SubagentPool extends LoopSubagents {
  /** For the tools. Rejects with `unprocessable` where no loop runs. */
  supervisor(): Promise<Supervisor>
}

export interface SpawnAnswer {
  readonly id: string
  readonly state: 'running'
  readonly ttl_seconds: number
  readonly living: string
}

export interface SubagentList {
  readonly subagents: readonly SubagentView[]
  readonly may_begin: number
  readonly outcome_unknown?: OutcomeUnknown
}

/** Begun before the agent was cut off. */
export interface OutcomeUnknown {
  readonly ids: readonly string[]
  readonly meaning: string
}

export interface WaitAnswer {
  /** Of the least trusted result; stands first, so that nothing cuts it off. */
  readonly trust: Trust
  readonly ended: readonly (SubagentView & { readonly result: string })[]
  readonly still_running: readonly SubagentView[]
  readonly outcome_unknown?: OutcomeUnknown
  readonly interrupted?: string
}

/** What the tools do; `SubagentPool` says what holds. */
export interface Supervisor {
  /** Problems: `conflict` when as many live as may, `unprocessable` when as many were begun as may be. */
  spawn(wish: {
    readonly goal: string
    readonly ttlSeconds: number
    /** Of the call; its last part is the step, which is used once in a run. */
    readonly idempotencyKey: string
    /** What the words of the goal may rest on. */
    readonly trust: Trust
  }): SpawnAnswer
  list(): SubagentList
  /** No ids: all whose results were not read. Answers when they have ended, or the first has, or the time is over. */
  wait(
    wish: {
      readonly ids: readonly string[]
      readonly until: 'all' | 'first'
      readonly timeoutSeconds: number
    },
    signal: AbortSignal,
  ): Promise<WaitAnswer>
  takeUnread(): PromptText | null
  end(): Promise<void>
}
