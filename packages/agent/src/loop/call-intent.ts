import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { ToolCallEnd } from '../tools/execute-tool-call.ts'
import type { ToolEffect } from '../tools/tool.ts'
import type { LoopState, PendingCall } from './loop-state.ts'

/**
 * Records the intent of a call in the state, which the caller stores before it makes the call, and returns the step of
 * the call. A call that an earlier attempt of the run began keeps its step, and so its idempotency key. Returns null for
 * an interrupted call with a local effect: its outcome is unknown, and it must not be made again.
 */
export function beginCall(
  state: Pick<LoopState, 'step' | 'pending'>,
  {
    callId,
    effect,
    interrupted,
  }: { readonly callId: string; readonly effect: ToolEffect; readonly interrupted: PendingCall | null },
): number | null {
  if (interrupted !== null && effect === 'local') return null
  const step = interrupted?.step ?? state.step + 1
  state.step = Math.max(state.step, step)
  state.pending = [...state.pending.filter((call) => call !== interrupted), { callId, step }]
  return step
}

/** The result of a call that was not made, for the reason that the text gives. Pure. */
export function unmadeCall(output: PromptText): ToolCallEnd {
  return { output, ok: false, durationMs: 0, code: null, completion: null, images: [] }
}
