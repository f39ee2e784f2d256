import type { Thought } from '@flotilla/protocol/normal-answer'
import type { ModelAnswer, RequestedCall } from '../llm/language-model.ts'
import type { LoopState } from './loop-state.ts'

/**
 * The calls of an answer as they are stored, with their thoughts. An id that is empty or already used in the
 * conversation is replaced: providers reject a conversation with duplicate ids. A call that was cut off
 * before its first argument is marked as broken, so that it does not pass for a call without arguments. Pure.
 */
export function usableCalls(
  answer: ModelAnswer,
  { messages, step }: Pick<LoopState, 'messages' | 'step'>,
): { readonly toolCalls: readonly RequestedCall[]; readonly thoughts: readonly Thought[] } {
  const seen = new Set(
    messages.flatMap((message) =>
      message.role === 'assistant' ? message.toolCalls.map(({ id }) => id) : [],
    ),
  )
  const renamed = new Map<string, string>()
  const toolCalls = answer.toolCalls.map((call, index) => {
    let id = call.id
    for (let tries = 0; id === '' || seen.has(id); tries += 1)
      id = `call_${step + 1}_${index}${tries === 0 ? '' : `_${tries}`}`
    // If several calls have the same id, a provider's signature with this id belongs to the first of them.
    if (!renamed.has(call.id)) renamed.set(call.id, id)
    seen.add(id)
    const cutAtStart = answer.cutOff && index === answer.toolCalls.length - 1 && call.arguments.trim() === ''
    return { ...call, id, arguments: cutAtStart ? '{' : call.arguments }
  })
  const thoughts = (answer.thoughts ?? []).map((thought) => {
    const id = typeof thought['id'] === 'string' ? renamed.get(thought['id']) : undefined
    return id === undefined ? thought : { ...thought, id }
  })
  return { toolCalls, thoughts }
}
