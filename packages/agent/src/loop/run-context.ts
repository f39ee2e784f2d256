import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { Clock } from '@flotilla/protocol/clock'
import type { LanguageModel } from '../llm/language-model.ts'
import type { ImageStore } from '../images/image-store.ts'
import type { PromptMode } from '../prompt/build-system-prompt.ts'
import type { Learnings } from '../learnings/learnings.ts'
import type { RunMesh } from '../mesh/run-mesh.ts'
import type { ContextKeeper } from '../context/context-keeper.ts'
import type { RecordRun } from '../context/record-run.ts'
import type { Crew } from '../subagents/crew.ts'
import type { Tool } from '../tools/tool.ts'
import type { Checkpoints } from './checkpoints.ts'
import type { RunHooks } from './run-desk.ts'
import type { Sessions } from './sessions.ts'

/** Bounds of the loop, from the environment, already within their range. */
export interface LoopBounds {
  readonly taskIterationsMax: number
  readonly chatRoundsPerTurnMax: number
  readonly chatRoundsPerSessionMax: number
}

/** What one run works with. */
export interface RunContext {
  readonly inputHash: string
  readonly stepsUsed: number
  readonly hooks: RunHooks
  readonly signal: AbortSignal
  readonly mesh: RunMesh
  readonly model: LanguageModel
  readonly tools: readonly Tool[]
  /** Of this run; its tools are among `tools`. */
  readonly crew?: Crew | undefined
  readonly bounds: LoopBounds
  readonly sessions: Sessions
  readonly checkpoints: Checkpoints
  readonly clock: Clock
  readonly learnings?: Learnings | undefined
  readonly images?: ImageStore | undefined
  readonly context: ContextKeeper
  /** Writes a line about the run into the day's log. Never rejects. */
  readonly recordRun: RecordRun
  /** The same for a heartbeat, in a log that is no sign of activity. Never rejects. */
  readonly recordHeartbeat: RecordRun
  /** Reads the workspace anew: the agent may have changed it since the last run. */
  systemPrompt(mode: PromptMode): Promise<PromptText>
}
