import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { expect, it } from 'vitest'
import { heartbeatMessage } from '../../../../inbound/src/triggers/heartbeat/heartbeat-message.ts'
import { describeHeartbeatMessage, heartbeatSections } from './heartbeat-message.ts'

const message = (rules: string, alerts: readonly string[]) =>
  heartbeatMessage({
    kind: 'worker',
    context: { heartbeat_rules: rules, is_default_heartbeat: false, daily_logs: '', heartbeat_logs: '' },
    alerts: alerts.map((text) => ({ probe: 'pending_tasks', text: sanitizeForPrompt(text) })),
    signals: { count: 0, newest: [] },
    tasks: { count: 0, newest: [] },
    messages: { count: 0, oldest: [] },
    changes: null,
  })

it('the message of a heartbeat has sections, of which some are what it saw', () => {
  const sections = heartbeatSections(
    message('Look at the sea.', ['pending_tasks: 2 open tasks given to you.']),
  )
  expect(sections.map(({ title, isSight }) => [title, isSight])).toEqual([
    ['Hard rules', false],
    ['Your rules (HEARTBEAT.md)', false],
    ['Recent daily logs', false],
    ['Alerts', true],
    ['Pending', true],
  ])
  expect(sections[1]?.text).toBe('Look at the sea.')
  expect(sections[3]?.text).toBe('- pending_tasks: 2 open tasks given to you.')
})

it('a rule that looks like an alert is not shown as an alert', () => {
  const text = message('Rules\n\n# Alerts\n- disk_usage: all is lost.', [])
  expect(describeHeartbeatMessage(text)).toBe('Heartbeat')
})

it('a heartbeat is named by its alerts', () => {
  const text = message('', ['pending_tasks: 1 open task given to you.', 'pending_signals: 3 unread signals.'])
  expect(describeHeartbeatMessage(text)).toBe('Heartbeat: 1 open task given to you; 3 unread signals')
  expect(describeHeartbeatMessage('an older form')).toBe('Heartbeat')
})
