import { expect, it } from 'vitest'
import { periodBounds } from './run-filter.ts'

const now = new Date('2026-11-28T15:30:20').getTime()
const local = (text: string) => new Date(text).getTime()
const none = { when: '', from: '', until: '' }

it('a period by name ends now and begins where its name says', () => {
  expect(periodBounds({ ...none, when: 'today' }, now)).toEqual({ since: local('2026-11-28T00:00:00') })
  expect(periodBounds({ ...none, when: 'last hour' }, now)).toEqual({ since: local('2026-11-28T14:30:00') })
  expect(periodBounds({ ...none, when: 'last 7 days' }, now).since).toBeLessThan(local('2026-11-22T00:00:00'))
})

it('a period by days includes both, and what is no day is left out', () => {
  expect(periodBounds({ ...none, from: '2026-11-20', until: '2026-11-21' }, now)).toEqual({
    since: local('2026-11-20T00:00:00'),
    until: local('2026-11-22T00:00:00'),
  })
  expect(periodBounds({ ...none, from: 'yesterday', until: '2026-13-40' }, now)).toEqual({})
  expect(periodBounds({ ...none, when: 'toString' }, now)).toEqual({})
})
