import { expect, test } from 'vitest'
import { createColor } from '../terminal/color.ts'
import { historyLines, resetLine, sessionRows } from './history-lines.ts'

const hostile = 'a\u001B]0;owned\u0007b'
// oxlint-disable-next-line eslint/no-control-regex -- control characters are what this is about
const control = /[\u0000-\u0008\u000B-\u001F]/

test('an agent that makes its history up moves no cursor', () => {
  const said = { role: 'assistant', text: hostile, calls: [{ name: hostile, input: hostile }] } as const
  const history = {
    session: hostile,
    messages: [{ ...said, calls: [...said.calls] }],
    total: 3,
    rounds: 1,
    continues: 0,
    task_id: null,
  }
  const one = { session: hostile, messages: 1, updated_at: 0, task_id: hostile }
  const lines = [
    ...historyLines(history, createColor(false)),
    ...historyLines({ ...history, total: 0 }, createColor(false)),
    ...sessionRows({ sessions: [one], total: 1 }),
    resetLine({ session: hostile, archived_messages: 2 }),
  ]
  expect(lines.length).toBeGreaterThan(5)
  expect(lines.filter((line) => control.test(line))).toEqual([])
})
