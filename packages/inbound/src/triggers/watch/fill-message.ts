import { wireLimits } from '@flotilla/protocol/limits'
import { sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'

/** The message that is used if the filled template has no visible text. */
const nothingToSee = sanitizeForPrompt('A file whose name has no visible characters was added or changed.')

/**
 * Returns the template filled for one file. Both placeholders are replaced in one pass, so a file
 * name that looks like a placeholder stays unchanged. Other braces are kept. Invisible characters
 * are removed, as from all text for models. Pure.
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
