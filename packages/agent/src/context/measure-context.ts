import { Problem } from '@flotilla/protocol/problem'
import { wireLimits } from '@flotilla/protocol/limits'
import type { ToolDefinition } from '@flotilla/protocol/tool-call'
import type { PromptMessage } from '../llm/language-model.ts'
import type { Log } from '@flotilla/protocol/json-log'
import type { RunMesh } from '../mesh/run-mesh.ts'
import { askWindow } from './ask-window.ts'
import type { TokenCounter } from './count-tokens.ts'
import { estimateFrame, estimateMessage, textBytes } from './estimate-tokens.ts'
import { windowOf } from './model-facts.ts'
import type { ModelFactStore } from './model-facts.ts'

/** Text of this length fits into every window in use, so a short run needs no request for the window. */
const surelyFitsBytes = 24_000
/** From this share of the window on, tokens are counted and not estimated. */
const countFromShare = 0.45
/** Characters that JSON escapes take twice their bytes. */
const bodyTextMaxBytes = wireLimits.modelBodyMaxBytes * 0.6

export interface MeasureDeps {
  /** Name of the model as it is requested. */
  readonly model: string
  readonly modelFacts: ModelFactStore
  /** The model's own tokenizer; null where it does not exist or does not fit into memory. */
  readonly tokenizer: TokenCounter | null
  readonly log: Log
}

export interface ContextSize {
  /** The request's size in tokens by the agent's own count, including instructions and tools. */
  readonly counted: number
  /** The part of `counted` that instructions and tools take. */
  readonly frameCounted: number
  /** The conversation's part of the rough count, in which single messages are measured. */
  readonly rough: number
  /** The request's size in the model's own tokens, corrected by all usage that the model has reported. */
  readonly tokens: number
  readonly windowTokens: number
  /** The window that the mesh reports, or the default; rejections, which may mislead, do not reduce it. */
  readonly statedWindowTokens: number
  /** True above the API's body limit, or above the window that the owner or the public list states. */
  readonly isSurelyTooLong: boolean
  /** The model whose calibration corrects this count. */
  readonly countedAs: string
}

/** Measures how much of its model's window a request would take. */
export async function measureContext(
  deps: MeasureDeps,
  request: {
    messages: readonly PromptMessage[]
    systemPrompt: string
    tools: readonly ToolDefinition[]
    mesh: RunMesh
  },
  signal: AbortSignal,
): Promise<ContextSize> {
  const { modelFacts, model, tokenizer } = deps
  const { messages } = request
  const frame = estimateFrame(request.systemPrompt, request.tools)
  const bytes = messages.reduce((sum, message) => sum + textBytes(message), 0)
  const rough = messages.reduce((sum, message) => sum + estimateMessage(message), 0)
  if (frame * 3 + bytes > surelyFitsBytes && (await modelFacts.wantsAsking(model))) {
    await learnWindow(deps, request.mesh, signal)
  }
  const exactName = `${model} (counted)`
  const [facts, exactFacts] = [await modelFacts.of(model), await modelFacts.of(exactName)]
  const windowTokens = windowOf(facts)
  const statedWindowTokens = windowOf({ ...facts, learnedWindow: null })
  const isSurelyTooLong = (counted: number): boolean =>
    bytes >= bodyTextMaxBytes || counted >= statedWindowTokens
  // A body that the API rejects is useless, however much the model could read.
  const byBody = (windowTokens * bytes) / bodyTextMaxBytes
  const guessed = (frame + rough) * facts.calibration.ratio
  const shared = { frameCounted: frame, rough, windowTokens, statedWindowTokens }
  if (tokenizer === null || guessed < windowTokens * countFromShare) {
    const counted = frame + rough
    const tokens = Math.max(guessed, byBody)
    return { ...shared, counted, tokens, isSurelyTooLong: isSurelyTooLong(counted), countedAs: model }
  }
  const counted = frame + (await tokenizer.count(messages))
  const tokens = Math.max(counted * exactFacts.calibration.ratio, byBody)
  return { ...shared, counted, tokens, isSurelyTooLong: isSurelyTooLong(counted), countedAs: exactName }
}

/** An unknown window is no reason to stop: the default holds, and a rejection would correct it. */
async function learnWindow(deps: MeasureDeps, mesh: RunMesh, signal: AbortSignal): Promise<void> {
  try {
    await deps.modelFacts.told(deps.model, await askWindow(mesh, deps.model, signal))
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof Problem && error.code === 'stale-fence') throw error
    deps.log.warn(
      { model: deps.model, err: error },
      'failed to read the context window of a model; using the last known value or the default',
    )
    await deps.modelFacts
      .told(deps.model, (await deps.modelFacts.of(deps.model)).meshWindowTokens)
      .catch(() => undefined)
  }
}
