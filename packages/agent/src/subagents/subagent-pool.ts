import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { Log } from '@flotilla/protocol/json-log'
import type { LoopSubagents, RunLoop } from '../loop/loop-deps.ts'
import type { Trust } from '../memory/trust.ts'
import type { ExclusiveUse } from '../tools/exclusive-use.ts'
import type { SubagentView } from './subagent.ts'

export interface SubagentPoolDeps {
  /** The depth of the loop whose sub-agents these are: 0 for the agent's own. */
  readonly depth: number
  /** The loop, which each sub-agent also runs. */
  readonly runLoop: RunLoop
  readonly systemPrompt: () => Promise<PromptText>
  readonly exclusive: ExclusiveUse
  readonly log: Log
}

/**
 * The sub-agents of one loop.
 *
 * - **C1** A loop has at most `concurrentMax` living sub-agents; a loop at `depthMax` has none and no tool to
 *   start any.
 * - **C2** No sub-agent outlives the loop that started it: `end` stops them all and waits until they have
 *   released everything.
 * - **C3** A sub-agent's usage is charged to its parent at once, up to the run's own.
 * - **C4** No sub-agent is started twice. Those that ended in a crash are reported to the parent as of
 *   unknown outcome.
 * - **C5** A turn with unread results does not end before its agent was informed of them, once.
 */
export interface SubagentPool extends LoopSubagents {
  /** Returns the operations for the sub-agent tools. Rejects with `unprocessable` if no loop is running. */
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

/** Started before the agent was interrupted. */
export interface OutcomeUnknown {
  readonly ids: readonly string[]
  readonly meaning: string
}

export interface WaitAnswer {
  /** The trust of the least trusted result; it comes first, so that it is never cut off. */
  readonly trust: Trust
  readonly ended: readonly (SubagentView & { readonly result: string })[]
  readonly still_running: readonly SubagentView[]
  readonly outcome_unknown?: OutcomeUnknown
  readonly interrupted?: string
}

/** The operations of the tools; `SubagentPool` states the invariants. */
export interface Supervisor {
  /** Starts a sub-agent. Problems: `conflict` when too many are running, `unprocessable` after too many starts. */
  spawn(wish: {
    readonly goal: string
    readonly ttlSeconds: number
    /** Key of the call; its last part is the step, which is used once in a run. */
    readonly idempotencyKey: string
    /** The trust of the text that the goal is based on. */
    readonly trust: Trust
  }): SpawnAnswer
  list(): SubagentList
  /** Waits until all or the first of these sub-agents (no ids: all unread) end, a steer comes or the time is over. */
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
