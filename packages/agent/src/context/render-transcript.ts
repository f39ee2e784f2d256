import { joinPromptText, sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptMessage } from '../llm/language-model.ts'
import { cutMiddle } from '../tools/cut-middle.ts'

/** Renders a conversation for a person, a search or another model. Each message within `messageMaxChars`. Pure. */
export function renderTranscript(messages: readonly PromptMessage[], messageMaxChars = Infinity): PromptText {
  const parts = messages.map((message) => cutMiddle(renderMessage(message), messageMaxChars))
  return joinPromptText(parts, '\n\n')
}

/** The lines of one message in a transcript, as `read_file` counts them: the first is 0. */
export interface TranscriptLines {
  readonly offset: number
  readonly limit: number
}

/** Returns where `renderTranscript` puts each of these messages. Pure. */
export function linesInTranscript(messages: readonly PromptMessage[]): readonly TranscriptLines[] {
  let offset = 0
  return messages.map((message) => {
    const limit = renderMessage(message).split('\n').length
    const lines = { offset, limit }
    // An empty line follows each message.
    offset += limit + 1
    return lines
  })
}

function renderMessage(message: PromptMessage): PromptText {
  if (message.role === 'tool') return joinPromptText([sanitizeForPrompt('[result]'), message.content], ' ')
  const text = joinPromptText([sanitizeForPrompt(`${message.role}:`), message.content], ' ')
  if (message.role !== 'assistant') return text
  const calls = message.toolCalls.map((call) => sanitizeForPrompt(`[call] ${call.name} ${call.arguments}`))
  return joinPromptText(message.content === '' ? calls : [text, ...calls], '\n')
}
