/** Answers that contain no information. */
const quietReplies: readonly string[] = ['', 'ok', 'heartbeat_ok', 'nothing to do', 'no updates']

/** The maximum length of a quiet reply with its markup, in UTF-16 code units. */
const quietMaxChars = 200

/** True if an answer reports nothing, ignoring case and punctuation. Pure. */
export function isQuietReply(text: string): boolean {
  const trimmed = text.trim()
  // A longer text is not checked, because the regular expression takes quadratic time on long rows of marks.
  if (trimmed.length > quietMaxChars) return false
  const plain = trimmed
    .toLowerCase()
    .replace(/\s+/g, ' ')
    .replace(/^[*_`"']+|[*_`"'.!]+$/g, '')
  return quietReplies.includes(plain)
}
