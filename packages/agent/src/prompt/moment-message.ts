import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptMessage } from '../llm/language-model.ts'

/**
 * What changes from turn to turn, said before the words of the turn and kept with them: so everything before it stays
 * as it was, byte by byte, and providers find it in their caches. Pure. `now` in milliseconds since 1970.
 */
export function momentMessage(now: number): PromptMessage {
  const date = new Date(now)
  const weekday = date.toLocaleDateString('en-GB', { weekday: 'long', timeZone: 'UTC' })
  return {
    role: 'user',
    content: sanitizeForPrompt(
      `[It is ${weekday}, ${date.toISOString().slice(0, 16).replace('T', ' ')} UTC.]`,
    ),
  }
}

/** Pure. */
export function isMoment({ role, content }: PromptMessage): boolean {
  return role === 'user' && /^\[It is [A-Z][a-z]+, \d{4}-\d\d-\d\d \d\d:\d\d UTC\.\]$/.test(content)
}
