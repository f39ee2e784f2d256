import { expect, it } from 'vitest'
import { browserTimezone, timezones } from './timezones.ts'

it('the list of time zones begins with the browser’s and UTC, and names each once', () => {
  const all = timezones()
  const own = browserTimezone()
  expect(all.slice(0, 2)).toEqual(own === '' ? ['UTC', 'Africa/Abidjan'] : [own, 'UTC'])
  expect(new Set(all).size).toBe(all.length)
  expect(all).toContain('Europe/Berlin')
})
