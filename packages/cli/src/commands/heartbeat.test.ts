import { expect, test } from 'vitest'
import { rows } from './heartbeat.ts'

const last = { at: 0, manual: false, skipped: null, run_id: 'run_1', facts: null }
const view = { agent_id: 'scout', schedule: 'every 15m', locked: false, archived: false }

test('a heartbeat that read only part of HEARTBEAT.md says so, with the repair', () => {
  const lines = (leftOut: number) =>
    rows([{ ...view, last: { ...last, rules_left_out: leftOut } }]).join('\n')
  expect(lines(0)).not.toContain('HEARTBEAT.md')
  expect(lines(1234)).toContain('ran: run_1; 1234 characters of HEARTBEAT.md did not fit; shorten it')
})
