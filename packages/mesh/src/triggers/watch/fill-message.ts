import { wireLimits } from '@flotilla/protocol/limits'
import { sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'

/** What an agent is told where nothing is left of its message that could be seen. */
const nothingToSee = sanitizeForPrompt(
  'A file whose name holds nothing that could be seen was added or changed.',
)

/**
 * The message of a watch about one file. Both placeholders are filled in one pass, so that a name which looks like a
 * placeholder, or like anything else, stays the name that it is; other braces are left alone. What a person could not
 * see is taken out, as of all text that a model reads. Pure.
 */
export function fillMessage(
  template: string,
  file: { readonly filename: string; readonly filepath: string },
): PromptText {
  const filled = template.replace(
    /\{(filename|filepath)\}/g,
    (_whole, name: 'filename' | 'filepath') => file[name],
  )
  const clean = sanitizeForPrompt(filled)
  return clean.trim() === '' ? nothingToSee : truncatePromptText(clean, wireLimits.chatMessageMaxChars)
}
