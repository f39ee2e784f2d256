import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { ToolDefinition } from '@flotilla/protocol/tool-call'
import type { LanguageModel } from '../llm/language-model.ts'
import type { Log } from '@flotilla/protocol/json-log'
import type { LoopState } from '../loop/loop-state.ts'
import type { RunMesh } from '../mesh/run-mesh.ts'
import type { CallProvenance } from '../tools/tool.ts'
import type { DailyLog } from '../workspace/daily-log.ts'
import type { FactKeeper } from './fact-keeper.ts'

/** One round of a run, as far as its conversation goes. `state.messages` ends in complete groups. */
export interface ContextTurn {
  readonly state: LoopState
  readonly model: LanguageModel
  readonly mesh: RunMesh
  readonly systemPrompt: PromptText
  readonly tools: readonly ToolDefinition[]
  /** What stands behind the words of the conversation as it is now. */
  readonly provenance: () => CallProvenance
  /** The conversation begins with the words of a task, which stay. */
  readonly pinFirst: boolean
  readonly saveCheckpoint: (state: LoopState) => Promise<void>
  readonly signal: AbortSignal
}

/** Where what leaves a conversation goes. */
export interface ContextKeep {
  readonly factKeeper: FactKeeper
  readonly dailyLog: DailyLog
  readonly log: Log
}
