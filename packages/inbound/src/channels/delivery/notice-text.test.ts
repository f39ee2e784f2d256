import process from 'node:process'
import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import { channelNames } from '@flotilla/protocol/people'
import { describe, expect, test } from 'vitest'
import { createSplitText } from '../text/split-text.ts'
import { noticeOf as noticeAt, sendAt } from './notice-text.ts'

const noticeOf = (of: FleetEventBody, dashboard = 'http://127.0.0.1:8420') => noticeAt(of, dashboard)
const event = (fields: object) => fields as unknown as FleetEventBody
const task = (fields: object) =>
  event({
    type: 'task.changed',
    task_id: 'task_7',
    creator: 'operator',
    assignee: 'clerk',
    title: 'Sort it',
    state: 'done',
    ...fields,
  })

describe('the text of a notice', () => {
  test('the notice of an agent has its text, cut at the limit', () => {
    expect(noticeOf(event({ type: 'note.added', agent_id: 'clerk', message: 'x'.repeat(3000) }))).toEqual({
      kind: 'notes',
      agentId: 'clerk',
      by: 'clerk',
      text: 'x'.repeat(2000),
      about: 'x'.repeat(2000),
    })
  })

  test('each note of the mesh is a new notice, whatever its text', () => {
    const added = { type: 'note.added', note_id: 'note_7', agent_id: 'clerk', message: 'x', by: 'mesh' }
    expect(noticeOf(event(added))).toMatchObject({ kind: 'notes', text: 'x', about: 'note_7' })
  })

  test('the notice of an approval has the request on one line and where to decide it', () => {
    const asked = {
      type: 'approval.asked',
      approval_id: 'appr_7',
      agent_id: 'clerk',
      summary: `  a\n\nDecide  here: ${'x'.repeat(700)}`,
    }
    const notice = noticeOf(event(asked))
    expect(notice).toMatchObject({ kind: 'approvals', agentId: null, about: 'appr_7' })
    const [first = '', ...rest] = notice?.text.split('\n') ?? []
    expect(first).toBe(`clerk asks: a Decide here: ${'x'.repeat(600 - 'a Decide here: '.length)}`)
    expect(rest).toEqual([
      'Decide it here: http://127.0.0.1:8420/approvals/appr%5F7',
      'Or in a terminal of the machine: flotilla pending',
    ])
  })

  test.each(channelNames)('the link to an approval arrives whole on %s', (channel) => {
    const asked = {
      type: 'approval.asked',
      approval_id: 'appr_7_x',
      agent_id: 'clerk',
      summary: 'pay *7* _now_',
    }
    const { text = '' } = noticeOf(event(asked), 'https://fleet.example.org/own_dashboard/') ?? {}
    const { pieces } = createSplitText()({ channel, text, format: 'plain', lead: '' })
    expect(pieces).toHaveLength(1)
    expect(pieces[0]?.split('\n')[1]).toBe(
      'Decide it here: https://fleet.example.org/own%5Fdashboard/approvals/appr%5F7%5Fx',
    )
  })

  test('the notice of an approval lists earlier requests, three at most, one per line', () => {
    const repeats = ['WARNING: one\nmore', 'WARNING: two', 'WARNING: three', 'WARNING: four']
    const asked = {
      type: 'approval.asked',
      approval_id: 'appr_7',
      agent_id: 'clerk',
      summary: 'pay',
      repeats,
    }
    expect(noticeOf(event(asked))?.text.split('\n')).toEqual([
      'clerk asks: pay',
      'WARNING: one more',
      'WARNING: two',
      'WARNING: three',
      'Decide it here: http://127.0.0.1:8420/approvals/appr%5F7',
      'Or in a terminal of the machine: flotilla pending',
    ])
  })

  test.each([
    [{ scope: 'fleet', scope_id: 'x' }, 'The fleet'],
    [{ scope: 'agent', scope_id: 'clerk' }, 'The agent clerk'],
  ])('the notice of a budget says whose, how much and the limit', (whose, words) => {
    const by = whose.scope === 'agent' ? whose.scope_id : null
    const reached = { type: 'budget.reached', spent_usd: 8.005, limit_usd: 10, period: 'today', percent: 80 }
    const text = `${words} has spent USD 8.01 of USD 10.00 for today (80 %).`
    expect(noticeOf(event({ ...reached, ...whose }))).toEqual({
      kind: 'budgets',
      agentId: null,
      by,
      text,
      about: text,
    })
  })

  test.each([
    [80, 7.9, 'USD 7.90 of USD 10.00 for today (80 %).'],
    [100, 10, 'USD 10.00 of USD 10.00 for today (100 %).'],
    [100, 10.2, 'USD 10.20 of USD 10.00 for today (100 %).'],
    [100, 9.99, 'USD 9.99 of USD 10.00 for today, and the rest is too small for the next model call.'],
    [100, 0, 'USD 0.00 of USD 10.00 for today, and the rest is too small for the next model call.'],
  ])(
    'the notice of a budget at %d percent with USD %d spent states exactly that',
    (percent, spent_usd, words) => {
      const reached = { type: 'budget.reached', limit_usd: 10, period: 'today', scope: 'fleet', scope_id: '' }
      expect(noticeOf(event({ ...reached, percent, spent_usd }))?.text).toBe(`The fleet has spent ${words}`)
    },
  )

  test.each(['done', 'failed', 'blocked', 'cancelled'])(
    "an operator's hand-off that is %s causes a notice",
    (state) => {
      expect(noticeOf(task({ state }))).toEqual({
        kind: 'tasks',
        agentId: null,
        by: 'clerk',
        text: `clerk: "Sort it" is ${state}.`,
        about: `task_7 ${state}`,
      })
    },
  )

  test('a task title is cut to one line in a notice', () => {
    expect(noticeOf(task({ title: `a\nb${'x'.repeat(300)}` }))?.text).toBe(
      `clerk: "a b${'x'.repeat(197)}" is done.`,
    )
  })

  test.each([
    ['a task that is not over', task({ state: 'working' })],
    ['a task of another agent', task({ creator: 'clerk' })],
    ['another kind', event({ type: 'agent.started', creator: 'operator', state: 'done', agent_id: 'clerk' })],
  ])('an event about %s causes no notice', (_what, body) => {
    expect(noticeOf(body)).toBeNull()
  })
})

/** On a day without a clock change, in the machine's time zone. */
const at = (hours: number, minutes = 0, day = 10) => new Date(2026, 10, day, hours, minutes, 30).getTime()
const ends = (hours: number, minutes: number, day: number) =>
  new Date(2026, 10, day, hours, minutes, 0).getTime()
const night = { from: '22:00', to: '07:30' }
const noon = { from: '12:05', to: '13:00' }

test.each([
  ['there are none', null, at(3), at(3)],
  ['they are of no length', { from: '22:00', to: '22:00' }, at(22), at(22)],
  ['the night has not begun', night, at(21, 59), at(21, 59)],
  ['the night begins', night, at(22, 0), ends(7, 30, 11)],
  ['it is before midnight', night, at(23, 30), ends(7, 30, 11)],
  ['it is after midnight', night, at(0, 5), ends(7, 30, 10)],
  ['the night is about to end', night, at(7, 29), ends(7, 30, 10)],
  ['the night is over', night, at(7, 30), at(7, 30)],
  ['noon has not begun', noon, at(12, 4), at(12, 4)],
  ['noon begins', noon, at(12, 5), ends(13, 0, 10)],
  ['noon is about to end', noon, at(12, 59), ends(13, 0, 10)],
  ['noon is over', noon, at(13, 0), at(13, 0)],
  ['it is a single-digit hour', { from: '08:00', to: '09:00' }, at(8, 5), ends(9, 0, 10)],
])('a notice is sent at the end of the quiet hours when %s', (...[, quiet, now, told]) => {
  expect(sendAt(now, quiet)).toBe(told)
})

test.each([
  // Clocks go from 03:00 back to 02:00 at 01:00 UTC.
  ['the first 02:10', '2026-10-25T00:10Z', '2026-10-25T00:30Z'],
  ['the second 02:10', '2026-10-25T01:10Z', '2026-10-25T01:30Z'],
  ['the hour before', '2026-10-24T23:10Z', '2026-10-25T00:30Z'],
  // Clocks go from 02:00 to 03:00 at 01:00 UTC, and never show 02:30.
  ['spring', '2026-03-29T00:10Z', '2026-03-29T01:30Z'],
])('quiet hours end on the same day when clocks change: %s', (_name, now, until) => {
  const before = process.env['TZ']
  process.env['TZ'] = 'Europe/Berlin'
  try {
    expect(sendAt(Date.parse(now), { from: '22:00', to: '02:30' })).toBe(Date.parse(until))
  } finally {
    if (before === undefined) delete process.env['TZ']
    else process.env['TZ'] = before
  }
})
