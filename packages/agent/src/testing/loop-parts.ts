import type { CallProvenance } from '../tools/tool.ts'
import type { ChatFrame } from '@flotilla/protocol/agent-api'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { LanguageModel, RequestedCall } from '../llm/language-model.ts'
import { freshState } from '../loop/loop-state.ts'
import { aContextKeeper } from './context-parts.ts'
import type { LoopState } from '../loop/loop-state.ts'
import type { LoopDeps, LoopWork, RunContext } from '../loop/loop-deps.ts'
import type { RunMesh } from '../mesh/run-mesh.ts'
import { systemClock } from '../system-clock.ts'
import { text } from '../tools/parameters.ts'
import { defineTool, succeeded } from '../tools/tool.ts'
import type { Tool, ToolContext, ToolEffect } from '../tools/tool.ts'

/** A mesh that tools in a test must not call. */
export const noMesh: RunMesh = {
  call: () => Promise.reject(new Error('the mesh is not part of this test')),
  open: () => Promise.reject(new Error('the mesh is not part of this test')),
}

/** No client follows the run, steers it, or takes it over. */
export const silentHooks: RunContext['hooks'] = {
  onFrame: () => {},
  onStep: () => {},
  onTakenOver: () => {},
  isLeftToAnother: () => false,
  steers: () => [],
}

/** A tool `name(value)` that answers with the result of `run` and records the keys of its calls. */
export function fakeTool(
  name: string,
  effect: ToolEffect,
  run: (value: string, context: ToolContext) => unknown = (value) => `ran ${value}`,
): Tool & { readonly keys: string[] } {
  const keys: string[] = []
  const tool = defineTool({
    name,
    description: name,
    parameters: { value: text('a value', { maxChars: 10 }) },
    effect,
    timeoutMs: 5000,
    run: async ({ value }, context) => {
      keys.push(context.idempotencyKey)
      return succeeded(await run(value, context))
    },
  })
  return { ...tool, keys }
}

export function calls(
  ...made: readonly (readonly [id: string, name: string, args: string])[]
): RequestedCall[] {
  return made.map(([id, name, args]) => ({ id, name, arguments: args }))
}

export function aState(question = 'do it'): LoopState {
  return freshState({
    runId: 'run_1',
    inputHash: 'hash',
    startedAt: 0,
    step: 0,
    messages: [{ role: 'user', content: sanitizeForPrompt(question) }],
    rounds: { turn: 0, session: 0, continues: 0 },
  })
}

/** Differences from a plain chat turn. */
export type LoopChanges = Partial<Omit<LoopDeps, 'work'> & Omit<LoopWork, 'systemPrompt'>>

/** The loop's parts for a chat turn; checkpoints are stored as the JSON that would be on disk. */
export function loopParts(model: LanguageModel, tools: readonly Tool[], changes: LoopChanges = {}) {
  const { bounds, spending, taskId, beginning, remindsOfTask, said, emptyRetriesMax, ...others } = changes
  const checkpoints: string[] = []
  const frames: ChatFrame[] = []
  const deps: LoopDeps = {
    model,
    context: aContextKeeper(),
    mesh: noMesh,
    tools,
    work: {
      systemPrompt: sanitizeForPrompt('be good'),
      bounds: bounds ?? { kind: 'chat', perTurnMax: 30, perSessionMax: 200 },
      spending: spending ?? null,
      taskId: taskId ?? null,
      ...(beginning ? { beginning } : {}),
      remindsOfTask: remindsOfTask ?? false,
      said,
      emptyRetriesMax: emptyRetriesMax ?? 1,
    },
    clock: systemClock,
    saveCheckpoint: async (state) => {
      checkpoints.push(JSON.stringify(state))
    },
    watch: { onFrame: (frame) => frames.push(frame), onStep: () => undefined },
    steers: () => [],
    ...others,
  }
  return { deps, checkpoints, frames }
}

/** The caller is unknown. */
export const noProvenance: CallProvenance = {
  runId: 'run_1',
  origin: 'unknown',
  channel: '',
  trust: 'outside',
  urls: [],
}
