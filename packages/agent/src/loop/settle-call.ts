import { joinPromptText, sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import { boundImages } from '../images/bound-images.ts'
import type { ImageRef, RequestedCall } from '../llm/language-model.ts'
import type { ToolCallEnd } from '../tools/execute-tool-call.ts'
import type { ReadCall } from './calls-together.ts'
import type { LoopState } from './loop-state.ts'
import type { RoundsDeps } from './run-rounds.ts'
import { boundInput } from './task-result.ts'

/** A call with the run that it belongs to. */
export interface CallOfRun {
  readonly state: LoopState
  readonly made: ReadCall
}

/** Stores a call's result: the conversation, the account of the run, and the disk. */
export async function settleCall(deps: RoundsDeps, of: CallOfRun, end: ToolCallEnd): Promise<void> {
  const tell = await keepResult(deps, of, end)
  await deps.saveCheckpoint(of.state)
  deps.onStep(of.state.step)
  tell()
}

/** The same without the disk; answers how whoever listens is told, once the result is there. */
export async function keepResult(
  deps: RoundsDeps,
  { state, made }: CallOfRun,
  end: ToolCallEnd,
): Promise<() => void> {
  const { call, input } = made
  const shown = await keepImages(deps, end)
  if (state.pending === null) state.step += 1
  const step = state.pending?.step ?? state.step
  state.pending = null
  if (!made.parsed.ok) forgetArguments(state, call)
  state.messages.push({
    role: 'tool',
    toolCallId: call.id,
    content: shown.output,
    ...(shown.images.length > 0 ? { images: shown.images } : {}),
  })
  if (shown.images.length > 0) state.messages = boundImages(state.messages)
  state.completion ??= end.completion
  const account = { step, output: shown.output, ok: end.ok }
  state.toolOutputs.push({
    ...account,
    tool: call.name,
    input: boundInput(input),
    duration_ms: end.durationMs,
  })
  return () => deps.onFrame({ type: 'tool_result', name: call.name, ...account })
}

/** Pictures go to the store; one that is none, or that there is no room for, is told of in words. */
async function keepImages(
  { images }: RoundsDeps,
  end: ToolCallEnd,
): Promise<{ readonly output: PromptText; readonly images: readonly ImageRef[] }> {
  if (end.images.length === 0) return { output: end.output, images: [] }
  const kept: ImageRef[] = []
  for (const image of end.images) {
    const ref = await images?.keep(image).catch(() => null)
    if (ref) kept.push(ref)
  }
  const lost = end.images.length - kept.length
  if (lost === 0) return { output: end.output, images: kept }
  const words = sanitizeForPrompt(
    `[${lost} of ${end.images.length} pictures cannot be shown: no PNG, JPEG, GIF or WebP of 1 MB at most, or no room to keep it.]`,
  )
  return { output: joinPromptText([end.output, words], '\n'), images: kept }
}

/** Providers refuse a conversation with arguments that are no object; the result says what was wrong with them. */
function forgetArguments(state: LoopState, call: RequestedCall): void {
  state.messages = state.messages.map((message) =>
    message.role === 'assistant' && message.toolCalls.some((made) => made.id === call.id)
      ? {
          ...message,
          toolCalls: message.toolCalls.map((made) =>
            made.id === call.id ? { ...made, arguments: '{}' } : made,
          ),
        }
      : message,
  )
}
