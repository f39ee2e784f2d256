/**
 * How many date formatters are cached, one per time zone: creating one takes 90 µs. The cache belongs to a pure
 * function.
 */
const formattersMax = 64
const formatters = new Map<string, Intl.DateTimeFormat>()

/** Returns the offset of a zone from UTC at a point in time, in milliseconds. Throws for an unknown zone. Pure. */
export function zoneOffsetMs(timezone: string, at: number): number {
  if (timezone === 'UTC') return 0
  const offset = formatterOf(timezone)
    .formatToParts(at)
    .find((part) => part.type === 'timeZoneName')?.value
  const [, sign, hours = '0', minutes = '0', seconds = '0'] =
    /^GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/.exec(offset ?? '') ?? []
  const size = Number(hours) * 3_600_000 + Number(minutes) * 60_000 + Number(seconds) * 1000
  return sign === '-' ? -size : size
}

function formatterOf(timezone: string): Intl.DateTimeFormat {
  const known = formatters.get(timezone)
  if (known) return known
  const made = new Intl.DateTimeFormat('en-US', { timeZone: timezone, timeZoneName: 'longOffset' })
  if (formatters.size >= formattersMax) formatters.clear()
  formatters.set(timezone, made)
  return made
}
