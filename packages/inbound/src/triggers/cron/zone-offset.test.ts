import { describe, expect, test } from 'vitest'
import { zoneOffsetMs } from './zone-offset.ts'

const hour = 3_600_000

describe('the offset of a time zone', () => {
  test.each([
    ['UTC', '2026-07-01T00:00:00Z', 0],
    ['Europe/London', '2026-01-01T00:00:00Z', 0],
    ['Europe/London', '2026-07-01T00:00:00Z', hour],
    ['America/New_York', '2026-01-01T00:00:00Z', -5 * hour],
    ['America/St_Johns', '2026-01-01T00:00:00Z', -3.5 * hour],
    ['Asia/Kathmandu', '2026-01-01T00:00:00Z', 5.75 * hour],
  ])('the offset of %s at %s', (timezone, at, offset) => {
    expect(zoneOffsetMs(timezone, Date.parse(at))).toBe(offset)
  })

  test('the offset includes seconds for local solar time', () => {
    // Amsterdam was 19 minutes and 32 seconds ahead until 1937; this machine's table may merge it with Brussels.
    const at = Date.parse('1880-01-01T00:00:00Z')
    const shown = new Intl.DateTimeFormat('en-GB', {
      timeZone: 'Europe/Amsterdam',
      timeStyle: 'medium',
    }).format(at)
    const [hours = 0, minutes = 0, seconds = 0] = shown.split(':').map(Number)
    expect(zoneOffsetMs('Europe/Amsterdam', at)).toBe(hours * hour + minutes * 60_000 + seconds * 1000)
    expect(zoneOffsetMs('Europe/Amsterdam', at) % 60_000).not.toBe(0)
  })

  test('the offset changes exactly when the clocks do', () => {
    const change = Date.parse('2026-03-29T01:00:00Z')
    expect(zoneOffsetMs('Europe/Berlin', change - 1)).toBe(hour)
    expect(zoneOffsetMs('Europe/Berlin', change)).toBe(2 * hour)
  })

  test('the offset is correct for more zones than the cache holds', () => {
    const zones = Intl.supportedValuesOf('timeZone').slice(0, 140)
    const at = Date.parse('2026-01-01T00:00:00Z')
    const first = zones.map((zone) => zoneOffsetMs(zone, at))
    expect(zones.map((zone) => zoneOffsetMs(zone, at))).toEqual(first)
  })

  test('an unknown zone has no offset', () => {
    expect(() => zoneOffsetMs('Mars/Olympus', 0)).toThrow(RangeError)
  })
})
