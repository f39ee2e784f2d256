/** Answers that tell nobody anything. */
const quietReplies: readonly string[] = ['', 'ok', 'heartbeat_ok', 'nothing to do', 'no updates']

/** No quiet reply is longer, with the marks around it, UTF-16 code units. */
const quietMaxChars = 200

/** Whether an answer says that there is nothing to say, whatever its case and full stop. Pure. */
export function isQuietReply(text: string): boolean {
  const trimmed = text.trim()
  // The end of a long row of marks would be looked for from each of them.
  if (trimmed.length > quietMaxChars) return false
  const words = trimmed
    .toLowerCase()
    .replace(/\s+/g, ' ')
    .replace(/^[*_`"']+|[*_`"'.!]+$/g, '')
  return quietReplies.includes(words)
}
