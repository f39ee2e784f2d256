import type { RunView } from '@flotilla/protocol/run'
import { aRunView } from '../../../testing/src/run-view.ts'
import { describe, expect, it } from 'vitest'
import { nextStep } from './next-step.ts'
import type { RunSurroundings } from './next-step.ts'

const run = aRunView({
  agent_id: 'scribe',
  origin: { kind: 'cron', channel: 'cron' },
  state: 'running',
  proactive: true,
  started_at: 1,
  ended_at: null,
  outcome: null,
  tokens_used: 0,
})
const now = new Date('2026-11-29T14:00:00').getTime()
const around: RunSurroundings = {
  agent: { paused: null, retry_at: null },
  retryAt: undefined,
  ahead: undefined,
  carriedOut: new Set(),
  now,
}
const words = (changes: Partial<RunView>, other: Partial<RunSurroundings> = {}): string => {
  const step = nextStep({ ...run, ...changes }, { ...around, ...other })
  return `${step.words}${step.link === undefined ? '' : ` [${step.link.words}](${step.link.path})`}${step.after ?? ''}`
}

describe('what happens next with a run', () => {
  it.each<[string, Partial<RunView>, Partial<RunSurroundings>]>([
    ['works', {}, {}],
    ['retries at 14:05', {}, { retryAt: now + 300_000 }],
    [
      'continues when its agent is back, at 14:01',
      {},
      { agent: { paused: null, retry_at: now + 60_000 }, retryAt: now + 1 },
    ],
    ['starts next', { state: 'queued' }, {}],
    ['starts after [the run before it](/runs/run_0)', { state: 'queued' }, { ahead: { id: 'run_0' } }],
    [
      'starts when its pause ends: maintenance [scribe](/agents/scribe)',
      { state: 'queued' },
      { agent: { paused: 'maintenance', retry_at: null } },
    ],
    [
      'starts next',
      { state: 'queued', proactive: false, origin: { kind: 'human', channel: 'dashboard' } },
      { agent: { paused: 'maintenance', retry_at: null } },
    ],
    [
      'starts next',
      { state: 'queued', proactive: false, origin: { kind: 'agent', channel: 'agent' } },
      { agent: { paused: 'maintenance', retry_at: null } },
    ],
    [
      'starts next',
      { state: 'queued', proactive: false, origin: { kind: 'cron', channel: 'mesh' } },
      { agent: { paused: 'maintenance', retry_at: null } },
    ],
    ['starts next', { state: 'queued', attempt: 2 }, { agent: { paused: 'maintenance', retry_at: null } }],
    [
      'starts when its pause ends: maintenance [scribe](/agents/scribe)',
      { state: 'queued', origin: { kind: 'human', channel: 'agent' } },
      { agent: { paused: 'maintenance', retry_at: null } },
    ],
    ['waits for [your approval](/approvals)', { state: 'waiting', waiting_on: ['appr_1'] }, {}],
    [
      'waits for [your approval](/approvals), and for 1 more',
      { state: 'waiting', waiting_on: ['task_2', 'appr_1'] },
      {},
    ],
    ['waits for you in [its browser](/agents/scribe)', { state: 'waiting', waiting_on: ['hand_1'] }, {}],
    ['waits for [a task that it gave](/work/tasks/task_2)', { state: 'waiting', waiting_on: ['task_2'] }, {}],
    ['waits for the answer of another agent', { state: 'waiting', waiting_on: ['msg_2'] }, {}],
    ['waits while the mesh chooses versions of packages', { state: 'waiting', waiting_on: ['pack_2'] }, {}],
    [
      'waits for [an approved action to end](/approvals/appr_1)',
      { state: 'waiting', waiting_on: ['appr_1'] },
      { carriedOut: new Set(['appr_1']) },
    ],
    [
      'waits for [your approval](/approvals), and for 1 more',
      { state: 'waiting', waiting_on: ['appr_1', 'appr_2'] },
      { carriedOut: new Set(['appr_1']) },
    ],
    ['waits', { state: 'waiting' }, {}],
    ['stopped', { state: 'cancelled' }, {}],
    ['done: Written.', { state: 'done', outcome: { status: 'done', text: '\nWritten.\nTwice.' } }, {}],
    ['failed: no model', { state: 'failed', outcome: { status: 'failed', text: 'no model' } }, {}],
  ])('%s', (text, changes, other) => {
    expect(words(changes, other)).toBe(text)
  })
})
