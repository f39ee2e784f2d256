/** Returns a value as one line of JSON for a program. Pure. */
export function jsonLine(value: unknown): string {
  // JSON does not escape the C1 control characters, and a terminal obeys them.
  const safe = JSON.stringify(value).replace(
    /[\u007F-\u009F]/g,
    (found) => `\\u00${found.charCodeAt(0).toString(16)}`,
  )
  return `${safe}\n`
}
