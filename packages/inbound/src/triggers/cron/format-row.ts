import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { CronRow } from './cron-table.ts'

/** Above this delay a firing is late, in milliseconds: two ticks, as a due time normally fires at the next tick. */
const lateAfterMs = 10_000

/** Returns the result of a due time as one sentence for people, with times in UTC. Pure. */
export function formatRow(row: CronRow): string {
  return `${timesOf(row)}: ${whatOf(row)}`
}

function timesOf({ dueAt, dueUntil, count, countExact, manual }: CronRow): string {
  if (manual) return `${stamp(dueAt)}, manual`
  if (count === 1) return stamp(dueAt)
  return `${stamp(dueAt)} to ${stamp(dueUntil)}, ${countExact ? '' : 'at least '}${count} due times`
}

function whatOf(row: CronRow): string {
  if (row.state === 'skipped') return `skipped (${row.reason ?? 'no reason'}): ${row.detail}`
  if (row.state === 'firing') return 'is being fired'
  const late = isLate(row) ? `, ${formatDuration(row.lateMs)} late` : ''
  const quiet = row.quiet ? ', with nothing new to report' : ''
  if (row.outcome === null) return `fired as ${row.runId ?? '?'}${late}; still running`
  const text = row.quiet || row.text.trim() === '' ? '' : `: ${oneLine(row.text)}`
  return `fired as ${row.runId ?? '?'}${late}; ${row.outcome}${quiet}${text}`
}

export function isLate(row: Pick<CronRow, 'lateMs' | 'manual'>): boolean {
  return !row.manual && row.lateMs > lateAfterMs
}

export function stamp(at: number): string {
  return new Date(at)
    .toISOString()
    .replace('T', ' ')
    .replace(/\.000Z$/, 'Z')
}

export function formatDuration(ms: number): string {
  const seconds = Math.round(ms / 1000)
  if (seconds < 120) return `${seconds} s`
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} days`
}

/** How much of a text one line of a job or of its history shows an agent, in characters. */
const shownChars = 160

function oneLine(text: string): string {
  const line = sanitizeForPrompt(text).replace(/\s+/g, ' ').trim()
  return line.length > shownChars ? `${line.slice(0, shownChars - 1)}…` : line
}
