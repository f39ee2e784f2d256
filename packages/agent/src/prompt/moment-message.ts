import { joinPromptText, sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptMessage } from '../llm/language-model.ts'

/** Returns the text of a time for the model: `[It is Monday, 2026-11-30 09:15 UTC.]`. `now` in milliseconds since 1970. */
function momentText(now: number): string {
  const date = new Date(now)
  const weekday = date.toLocaleDateString('en-GB', { weekday: 'long', timeZone: 'UTC' })
  return `[It is ${weekday}, ${date.toISOString().slice(0, 16).replace('T', ' ')} UTC.]`
}

/**
 * Returns a message with the time. It is placed before the turn's message and stored with it, so that everything
 * before it stays the same byte for byte, and provider caches match. `now` in milliseconds since 1970. Pure.
 */
export function momentMessage(now: number): PromptMessage {
  return { role: 'user', content: sanitizeForPrompt(momentText(now)) }
}

/**
 * Returns text with the time behind it, for a message whose conversation begins with it: the time is no message of its
 * own there, because the first message is the work itself. `now` in milliseconds since 1970. Pure.
 */
export function withMoment(text: PromptText, now: number): PromptText {
  return joinPromptText([text, sanitizeForPrompt(momentText(now))], '\n\n')
}

/** Pure. */
export function isMoment({ role, content }: PromptMessage): boolean {
  return role === 'user' && /^\[It is [A-Z][a-z]+, \d{4}-\d\d-\d\d \d\d:\d\d UTC\.\]$/.test(content)
}
