import { unansweredText } from '@flotilla/protocol/chat-history'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { isSummary } from '../context/context-prompts.ts'
import type { PromptMessage } from '../llm/language-model.ts'
import { openCalls } from './loop-state.ts'
import type { LoopState } from './loop-state.ts'
import type { RunEnd } from './task-result.ts'

/**
 * Completes the messages of a turn that has ended, so that the conversation can continue: each call gets a result,
 * and a turn without a complete answer ends with the text so far and the reason. Pure.
 */
export function closedMessages(
  { messages, runId }: Pick<LoopState, 'messages' | 'runId'>,
  end: RunEnd,
): PromptMessage[] {
  const unmade = openCalls(messages).map(({ id }) => ({
    role: 'tool' as const,
    toolCallId: id,
    content: sanitizeForPrompt('[not made]'),
    ended: 'not-made' as const,
  }))
  const closed = withRun([...messages, ...unmade], runId)
  if (end.status === 'complete') return closed
  const last = closed.at(-1)
  const answer = last?.role === 'assistant' && last.toolCalls.length === 0 ? last.content : ''
  const content = sanitizeForPrompt(unansweredText(answer, end.detail))
  return [...(answer === '' ? closed : closed.slice(0, -1)), { role: 'assistant', content, toolCalls: [] }]
}

/**
 * Adds the run's id to the last summary if no message has it, because a compaction may have replaced the message that
 * began the run by that summary. Pure.
 */
function withRun(messages: PromptMessage[], runId: string): PromptMessage[] {
  if (messages.some((message) => 'run' in message && message.run === runId)) return messages
  const at = messages.findLastIndex(isSummary)
  return messages.map((message, index) =>
    index === at && message.role === 'user' ? { ...message, run: runId } : message,
  )
}
