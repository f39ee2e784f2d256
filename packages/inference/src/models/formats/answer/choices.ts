import { endOf } from './end-reasons.ts'
import type { WireChunk } from './chat-wire.ts'

export type WireChoice = Pick<
  NonNullable<NonNullable<WireChunk['choices']>[number]>,
  'index' | 'delta' | 'message' | 'text' | 'finish_reason'
>

/**
 * Whether a further choice of the same event belongs to the choice that is read: it has the same index, or it has the
 * calls with which the first choice says that it ended (Claude at GitHub Copilot). Pure.
 */
export function belongsTo(choice: WireChoice, other: WireChoice): boolean {
  if (other.index !== null && other.index === choice.index) return true
  if (endOf(choice.finish_reason) !== 'tool_calls' || callsIn(choice) > 0) return false
  return callsIn(other) > 0 && (other.delta ?? other.message)?.content.length === 0
}

function callsIn({ delta, message }: WireChoice): number {
  const said = delta ?? message
  return (said?.tool_calls.length ?? 0) + (said?.function_call ? 1 : 0)
}

/** The choices of one event. Pure. */
export function choicesIn({
  choices,
  message,
  done: isDone,
  done_reason: reason,
}: WireChunk): readonly WireChoice[] {
  // Ollama's own API sends pieces as `message`; its older versions give no reason at the end.
  if (message && !choices) {
    const finish = reason === '' && isDone ? 'stop' : reason
    return [{ index: 0, delta: message, text: '', finish_reason: finish }]
  }
  return (choices ?? []).filter((choice) => choice !== null)
}
