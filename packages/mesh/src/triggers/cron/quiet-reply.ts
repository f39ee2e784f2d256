/** Answers that tell nobody anything. */
const quietReplies: readonly string[] = ['', 'ok', 'heartbeat_ok', 'nothing to do', 'no updates']

/** Whether an answer says that there is nothing to say, whatever its case and full stop. Pure. */
export function isQuietReply(text: string): boolean {
  const words = text
    .trim()
    .toLowerCase()
    .replace(/\s+/g, ' ')
    .replace(/^[*_`"']+|[*_`"'.!]+$/g, '')
  return quietReplies.includes(words)
}
