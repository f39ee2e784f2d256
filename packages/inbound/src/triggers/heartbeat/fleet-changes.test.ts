import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import { describe, expect, test } from 'vitest'
import { changeLines, factsOf, fleetChanges } from './fleet-changes.ts'

const anAgent = (id: string, more: Partial<AgentView> = {}): AgentView => ({
  id,
  kind: 'worker',
  role: 'works',
  model: 'm',
  state: 'running',
  state_since: null,
  retry_at: null,
  busy: false,
  queued: 0,
  waiting: 0,
  cost_today_usd: 0,
  budget: { daily_usd: 10, monthly_usd: 200 },
  archived: false,
  paused: null,
  last_error: null,
  waits_for: null,
  isolation: { wanted: 'container', required: 'container', runs_on: null, fallback: null },
  ...more,
})
const facts = (...agents: AgentView[]) => factsOf(agents, () => 0)
const changes = (before: AgentView, now: AgentView) =>
  fleetChanges(facts(before), facts(now), () => now.last_error).map(({ text, worse }) => [text, worse])

describe('an unchanged fleet', () => {
  test.each([
    ['at all', {}],
    ['for a stopped agent', { state: 'stopped' }],
    ['for a working agent', { busy: true, queued: 3 }],
    ['for small costs', { cost_today_usd: 7.9 }],
  ] as const)('no change is reported %s', (_what, more) => {
    expect(changes(anAgent('ada'), anAgent('ada', more))).toEqual([])
  })

  test('a bad state that continues is not reported again', () => {
    const bad = anAgent('ada', {
      state: 'quarantined',
      cost_today_usd: 11,
      queued: 30,
      last_error: 'no model',
    })
    expect(changes(bad, bad)).toEqual([])
  })
})

describe('reported changes of the fleet', () => {
  test.each([
    [
      'a failure with its reason',
      {},
      { state: 'quarantined', last_error: 'no\nmodel' },
      'failed: no model',
      true,
    ],
    ['a recovery', { state: 'quarantined' }, { state: 'running' }, 'no longer counts as failed', false],
    ['an archived agent', {}, { archived: true }, 'was archived', false],
    ['a pause', {}, { paused: 'by its owner' }, 'was paused', false],
    [
      'a budget that is almost used up',
      {},
      { cost_today_usd: 8 },
      'has used 80 % of the budget of today',
      true,
    ],
    [
      'a budget that is used up',
      { cost_today_usd: 8 },
      { cost_today_usd: 10 },
      'has used up the budget of today',
      true,
    ],
    ['a long lane', {}, { queued: 20 }, 'has 20 runs or more in its lane', true],
  ] as const)('the change is reported: %s', (...[, before, now, words, worse]) => {
    expect(changes(anAgent('ada', before), anAgent('ada', now))).toEqual([[`- ada: ${words}`, worse]])
  })

  test('a new day that resets the budget is not reported', () => {
    expect(changes(anAgent('ada', { cost_today_usd: 10 }), anAgent('ada'))).toEqual([])
  })

  test('new and removed agents are reported, with the bad states of new ones', () => {
    const found = fleetChanges(facts(anAgent('bob')), facts(anAgent('ada', { state: 'quarantined' })))
    expect(found.map(({ text }) => text)).toEqual([
      '- ada: is new',
      '- ada: failed: no reason is known',
      '- bob: is gone',
    ])
  })

  test('more failed runs are reported, and fewer after a day are not', () => {
    const at = (failures: number) => factsOf([anAgent('ada')], () => failures)
    expect(fleetChanges(at(1), at(3)).map(({ text }) => text)).toEqual([
      '- ada: 3 runs failed in 24 hours, and 1 at your last heartbeat',
    ])
    expect(fleetChanges(at(3), at(1))).toEqual([])
  })

  test('the report is bounded, whatever the error texts', () => {
    const many = Array.from({ length: 50 }, (_, index) => anAgent(`a${index}`))
    const text = changeLines(fleetChanges({}, facts(...many), () => 'x'.repeat(10_000)))
    expect(text.split('\n')).toHaveLength(31)
    expect(text).toContain('- and 20 more, which inspect_fleet shows')
    const failed = facts(anAgent('a', { state: 'quarantined' }))
    const [one] = fleetChanges(facts(anAgent('a')), failed, () => 'x'.repeat(9999))
    expect(one?.text.length).toBeLessThan(200)
  })
})
