/**
 * Formats a log line of a process for people: time, level, message, and then all other fields. A line that is no log
 * entry in JSON stays unchanged. Pure.
 */
export function formatLogLine(line: string): string {
  const fact = readFact(line)
  if (fact === null) return line
  const { time, level, msg, ...rest } = fact
  if (typeof time !== 'number' || !Number.isFinite(new Date(time).getTime()) || typeof msg !== 'string')
    return line
  const moment = new Date(time).toISOString().slice(11, 19)
  const facts = Object.entries(rest).map(([name, value]) => `${name}=${wordOf(value)}`)
  return [moment, wordOf(level ?? '').padEnd(5), msg, ...facts].join(' ')
}

function readFact(line: string): Readonly<Record<string, unknown>> | null {
  if (!line.startsWith('{')) return null
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? { ...value } : null
  } catch {
    return null
  }
}

function wordOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
