/** Formats US dollars with cents, and with more digits where cents would hide the figure. */
export function formatUsd(usd: number): string {
  return usd !== 0 && Math.abs(usd) < 0.01 ? `$${usd.toFixed(6)}` : `$${usd.toFixed(2)}`
}

/** Formats a number of things, with the singular for one. */
export function formatCount(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`
}

export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  const seconds = ms / 1000
  if (seconds < 60) return `${seconds.toFixed(1)} s`
  const whole = Math.round(seconds)
  const minutes = Math.floor(whole / 60)
  if (minutes < 60) return twoUnits(`${minutes} min`, whole % 60, 's')
  return twoUnits(`${Math.floor(minutes / 60)} h`, minutes % 60, 'min')
}

/** Joins two units, and omits the second at zero: `5 min`, not `5 min 0 s`. */
function twoUnits(first: string, count: number, unit: string): string {
  return count === 0 ? first : `${first} ${count} ${unit}`
}

export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KB`
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`
}

/** Formats a timestamp in UTC, to the second. */
export function formatTime(ms: number): string {
  return new Date(ms).toISOString().replace('T', ' ').slice(0, 19)
}
