import { expect, test } from 'vitest'
import { parseCondition } from '../conditions/index.ts'
import { previewSchedule } from './preview-schedule.ts'

const now = Date.UTC(2026, 10, 23, 12, 0, 3)
const readCondition = (text: string) => {
  parseCondition(text)
  return () => true
}
const preview = (asked: Parameters<typeof previewSchedule>[0]) =>
  previewSchedule(asked, { now, readCondition })
const times = (asked: Parameters<typeof previewSchedule>[0]) =>
  preview(asked).next.map((at) => new Date(at).toISOString())

test('the preview of a schedule shows the due times of a job that is created now', () => {
  expect(times({ schedule: '0 9 * * MON-FRI', timezone: 'Europe/Berlin' })).toEqual([
    '2026-11-24T08:00:00.000Z',
    '2026-11-25T08:00:00.000Z',
    '2026-11-26T08:00:00.000Z',
    '2026-11-27T08:00:00.000Z',
    '2026-11-30T08:00:00.000Z',
  ])
  expect(times({ schedule: 'every 15m' })[0]).toBe('2026-11-23T12:15:00.000Z')
})

test('the preview reports an invalid field, and an invalid condition keeps the times', () => {
  expect(preview({ schedule: '61 * * * *' })).toMatchObject({ fault: { field: 'schedule' }, next: [] })
  expect(preview({ schedule: 'every 1h', timezone: 'Mars/Olympus' }).fault?.field).toBe('timezone')
  const { fault, next } = preview({ schedule: 'every 1h', when: 'now.hour >' })
  expect(fault?.field).toBe('when')
  expect(next).toHaveLength(5)
})
