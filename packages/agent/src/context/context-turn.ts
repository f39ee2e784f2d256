import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { ToolDefinition } from '@flotilla/protocol/tool-call'
import type { LanguageModel } from '../llm/language-model.ts'
import type { Log } from '@flotilla/protocol/json-log'
import type { LoopState } from '../loop/loop-state.ts'
import type { RunMesh } from '../mesh/run-mesh.ts'
import type { CallProvenance } from '../tools/tool.ts'
import type { DailyLog } from '../workspace/daily-log.ts'
import type { FactKeeper } from './fact-keeper.ts'

/** One round of a run, as far as its conversation is concerned. `state.messages` ends in complete groups. */
export interface ContextTurn {
  readonly state: LoopState
  readonly model: LanguageModel
  readonly mesh: RunMesh
  readonly systemPrompt: PromptText
  readonly tools: readonly ToolDefinition[]
  /** The sources of the conversation's messages so far. */
  readonly provenance: () => CallProvenance
  /** True for a task: the first message, which is the text of the task, is never cut. */
  readonly pinFirst: boolean
  readonly saveCheckpoint: (state: LoopState) => Promise<void>
  readonly signal: AbortSignal
}

/** How messages that leave a conversation are stored. */
export interface ContextKeep {
  readonly factKeeper: FactKeeper
  readonly dailyLog: DailyLog
  readonly log: Log
}
