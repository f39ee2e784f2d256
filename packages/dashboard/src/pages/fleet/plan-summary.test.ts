import type { PlanItem } from '@flotilla/protocol/templates-api'
import { describe, expect, it } from 'vitest'
import { isLongValue, summarizePlan } from './plan-summary.ts'

const item = (kind: PlanItem['kind'], action: PlanItem['action'], id = 'a'): PlanItem => ({
  kind,
  id,
  action,
  changes: [],
})

describe('the plan of a template', () => {
  it.each([
    [[], 'It does nothing.'],
    [[item('agent', 'create')], 'It creates 1 agent. It removes nothing.'],
    [
      [
        item('agent', 'keep', 'old'),
        item('agent', 'create', 'b'),
        item('agent', 'create', 'c'),
        item('schedule', 'create'),
        item('webhook', 'by-hand'),
      ],
      'It creates 2 agents and 1 schedule, leaves to you 1 webhook and keeps 1 agent. It removes nothing.',
    ],
  ])('is summed up in a sentence', (items, text) => {
    expect(summarizePlan(items)).toBe(text)
  })

  it('a long or divided text is shown by its lines', () => {
    expect(isLongValue({ field: 'role', before: null, after: 'short' })).toBe(false)
    expect(isLongValue({ field: 'instructions', before: null, after: 'one\ntwo' })).toBe(true)
    expect(isLongValue({ field: 'role', before: 'x'.repeat(201), after: '' })).toBe(true)
  })
})
