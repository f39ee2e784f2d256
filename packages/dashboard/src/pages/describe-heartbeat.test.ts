import { describe, expect, it } from 'vitest'
import { describeHeartbeat, heartbeatSights } from './describe-heartbeat.ts'

const calm = {
  default_rules: true,
  recent_activity: false,
  disk_used_percent: 12,
  unread_signals: 0,
  open_tasks: 0,
  messages: 0,
  fleet_changes: 0,
  probes: [],
}
const fire = { at: 1, manual: false, skipped: null, run_id: 'run_1', rules_left_out: 0, facts: calm }

describe('a heartbeat in words', () => {
  it.each([
    [{ skipped: 'nothing-to-do' }, 'Skipped: there was nothing to do.'],
    [{ skipped: 'overlap', facts: null }, 'Skipped: the heartbeat before was still under way.'],
    [{ skipped: 'new-reason', facts: null }, 'Skipped: new-reason.'],
    [{ facts: null }, 'Ran.'],
    [{ manual: true }, 'Ran, because a person requested it.'],
    [
      { facts: { ...calm, default_rules: false, open_tasks: 2, probes: ['pending_tasks'] } },
      'Ran, because HEARTBEAT.md has rules of its own; 2 open tasks.',
    ],
    [
      { facts: { ...calm, default_rules: null, recent_activity: null } },
      'Ran, because the agent did not say whether it has work.',
    ],
  ])('a heartbeat is explained by what it saw', (changes, text) => {
    expect(describeHeartbeat({ ...fire, ...changes })).toBe(text)
  })

  it('what was seen is listed also if it caused nothing', () => {
    expect(heartbeatSights(calm)).toEqual([
      'HEARTBEAT.md has its default text',
      'no work since the heartbeat before',
      '0 open tasks',
      '0 unread signals',
      '0 kept messages',
      '12 % of /data used',
    ])
  })
})
