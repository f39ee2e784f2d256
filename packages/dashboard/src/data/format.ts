import { systemClock } from '@flotilla/client/system-clock'

/** Numbers and times as people read them. */

/** Formats a number of things: `1 message`, `2 messages`. */
export function formatCount(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`
}

/** Returns the label of a changed agent field, as the agent's pages use it. */
export function formatField(field: string): string {
  return field === 'mcpServers' ? 'MCP servers' : field
}

/** Formats a text of the mesh as a sentence: with a capital and a full stop. */
export function asSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`
}

/** Amounts below a cent have four digits; a smaller amount is never shown as zero. */
const leastUsd = 0.0001

export function formatUsd(usd: number): string {
  if (usd === 0) return '$0'
  if (Math.abs(usd) < leastUsd) return `${usd < 0 ? '−' : ''}<$${leastUsd}`
  const digits = Math.abs(usd) < 0.01 ? 4 : 2
  return usd.toLocaleString('en-US', {
    style: 'currency',
    currency: 'USD',
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  })
}

/** Formats a part of a whole, 0 to 1, in percent. */
export function formatShare(part: number): string {
  return `${Math.round(part * 100)} %`
}

export function formatTokens(count: number): string {
  if (count < 1000) return String(count)
  // From 999,500 tokens on, the unit is M: rounded to thousands, the number would read 1000k.
  const [amount, unit] = count < 999_500 ? [count / 1000, 'k'] : [count / 1_000_000, 'M']
  return `${amount.toFixed(amount < 9.95 ? 1 : 0)}${unit}`
}

export function formatDuration(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)} ms`
  if (ms < 9950) return `${(ms / 1000).toFixed(1)} s`
  // Rounded once, so that 119.6 s are 2 min and not 1 min 60 s.
  const seconds = Math.round(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`
}

/** Formats how long ago a time was, or how long until it. */
export function formatDistance(at: number, now: number): string {
  const distance = Math.abs(now - at)
  const distanceText = distanceWords(distance)
  if (distance < 5000) return 'now'
  return at > now ? `in ${distanceText}` : `${distanceText} ago`
}

function distanceWords(ms: number): string {
  const seconds = Math.round(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.round(ms / 60_000)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.round(ms / 3_600_000)
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} d`
}

/** A timestamp in the reader's time zone, with the zone, and with the year if it is not the current year. */
export function formatMoment(at: number, now = systemClock.now()): string {
  const moment = new Date(at)
  return moment.toLocaleString('en-GB', {
    day: 'numeric',
    month: 'short',
    ...(moment.getFullYear() === new Date(now).getFullYear() ? {} : { year: 'numeric' }),
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    timeZoneName: 'short',
  })
}

/** A time of day in the reader's time zone, with the date if it is not today's. */
export function formatClock(at: number, now = systemClock.now()): string {
  const [moment, today] = [new Date(at), new Date(now)]
  const clock = moment.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })
  if (moment.toDateString() === today.toDateString()) return clock
  return `${moment.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })}, ${clock}`
}

/** A date in the reader's time zone, such as a distant end date. */
export function formatDay(at: number): string {
  return new Date(at).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })
}

export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  let amount = bytes / 1024
  for (const unit of ['KB', 'MB']) {
    // An amount that rounds up to the next unit is shown in that unit.
    if (amount < 1023.95) return `${amount.toFixed(1)} ${unit}`
    amount /= 1024
  }
  return `${amount.toFixed(1)} GB`
}
