/** The time zone of this browser; empty for UTC. */
export function browserTimezone(): string {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
  return /^(?:Etc\/)?(?:UTC|GMT)$/.test(timeZone) ? '' : timeZone
}

/** All time zones by their IANA names: the browser's first, then UTC; and `chosen`, which the browser may not know. */
export function timezones(chosen = ''): readonly string[] {
  const own = browserTimezone()
  return [
    ...new Set([
      ...(own === '' ? [] : [own]),
      'UTC',
      ...Intl.supportedValuesOf('timeZone'),
      ...(chosen === '' ? [] : [chosen]),
    ]),
  ]
}
