import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { Clock } from '@flotilla/protocol/clock'
import type { LanguageModel } from '../llm/language-model.ts'
import type { ImageStore } from '../images/image-store.ts'
import type { PromptMode } from '../prompt/build-system-prompt.ts'
import type { Learnings } from '../learnings/learnings.ts'
import type { RunMesh } from '../mesh/run-mesh.ts'
import type { ContextKeeper } from '../context/context-keeper.ts'
import type { RecordRun } from '../context/record-run.ts'
import type { Tool } from '../tools/tool.ts'
import type { Checkpoints } from './checkpoints.ts'
import type { LoopDeps, LoopSubagents } from './loop-deps.ts'
import { freshState } from './loop-state.ts'
import type { LoopState } from './loop-state.ts'
import type { RunHooks } from './active-run.ts'
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
  readonly subagents?: LoopSubagents | undefined
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

type OwnOfEachKind =
  | 'systemPrompt'
  | 'bounds'
  | 'spending'
  | 'taskId'
  | 'beginning'
  | 'remindsOfTask'
  | 'emptyRetriesMax'

/** What runs of every kind give the loop alike; a kind adds only what is its own. */
export function loopDepsOf(context: RunContext): Omit<LoopDeps, OwnOfEachKind> {
  const { checkpoints, hooks, model, mesh, tools, subagents, learnings, images, clock } = context
  return {
    model,
    context: context.context,
    mesh,
    tools,
    subagents,
    learnings,
    images,
    clock,
    saveCheckpoint: (state) => checkpoints.save(state),
    ...hooks,
  }
}

/** Where the run was cut off, when it was and the same is asked again; else its beginning, already stored. */
export async function resumeState(
  context: RunContext,
  runId: string,
  begin: Omit<Parameters<typeof freshState>[0], 'runId' | 'inputHash' | 'startedAt' | 'step'>,
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
