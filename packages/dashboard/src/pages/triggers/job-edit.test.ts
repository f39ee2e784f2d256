import { cronChangeSchema, newCronJobSchema } from '@flotilla/protocol/cron-api'
import type { CronJobView } from '@flotilla/protocol/cron-api'
import { looksLikeWords } from '@flotilla/protocol/schedule-words'
import { expect, it } from 'vitest'
import {
  describeUnread,
  fieldsOf,
  jobAgain,
  jobChange,
  jobOf,
  jobText,
  newJob,
  withReadSchedule,
} from './job-edit.ts'

const job: CronJobView = {
  id: 'cron_1',
  agent: 'courier',
  mode: 'message',
  schedule: '0 9 * * *',
  timezone: 'UTC',
  enabled: true,
  suppress_empty: false,
  heartbeat: false,
  message: 'Send the report.',
  tool_name: null,
  tool_params: null,
  when: null,
  created_by: 'human:cli',
  created_at: 1,
  next_run: 2,
  last_run: null,
  last_outcome: null,
  run_count: 0,
  skip_count: 0,
  error_count: 0,
  errors_in_row: 0,
  note: '',
}

it('only what is another is sent, with what puts it back', () => {
  const before = fieldsOf(job)
  const { change, back } = jobChange(before, {
    ...before,
    schedule: ' every 2h ',
    timezone: 'Europe/Berlin',
    when: 'day == 1',
    enabled: false,
  })
  expect(change).toEqual({
    schedule: 'every 2h',
    timezone: 'Europe/Berlin',
    when: 'day == 1',
    enabled: false,
  })
  expect(back).toEqual({ schedule: '0 9 * * *', timezone: 'UTC', when: '', enabled: true })
  for (const one of [change, back]) expect(cronChangeSchema.safeParse(one).success).toBe(true)
  expect(jobChange(before, { ...before, message: ' Send the report. ' }).change).toEqual({})
})

it('a new job and one that is made again are jobs', () => {
  const made = jobOf('courier', withReadSchedule({ ...newJob, message: 'Look.' }))
  expect(made).toEqual({ agent: 'courier', schedule: '0 9 * * *', message: 'Look.', enabled: true })
  for (const one of [made, jobAgain(job)]) expect(newCronJobSchema.safeParse(one).success).toBe(true)
  expect(
    jobAgain({ ...job, message: null, tool_name: 'read_file', tool_params: { path: 'a' } }),
  ).toMatchObject({
    tool_name: 'read_file',
    tool_params: { path: 'a' },
  })
})

it('the form of a new job begins with words that are understood', () => {
  expect(looksLikeWords(newJob.schedule)).toBe(true)
  expect(withReadSchedule(newJob).schedule).toBe('0 9 * * *')
})

it('each field is a line of its own', () => {
  expect(jobText(fieldsOf(job)).split('\n')).toEqual([
    'schedule: 0 9 * * *',
    'time zone: UTC',
    'only when: always',
    'switched: on',
    'says: Send the report.',
  ])
})

it.each([
  ['every mornign at 9', 'not understood. The nearest form is “every morning at 9”.'],
  ['every so often', 'not understood. Write words such as “every morning at 9”.'],
  ['in 10 minutes', '“in 10 minutes” cannot be one: it is a single time'],
])('the schedule %j is refused in plain words', (schedule, words) => {
  expect(describeUnread(schedule)).toContain(words)
})
