import { describe, expect, test } from 'vitest'
import { editsOf, settingsText } from './agent-settings.ts'

const before = { role: 'Reads.', model: '', dailyUsd: '10', monthlyUsd: '200' }

describe('what a person sets of an agent', () => {
  test('what a person sets of an agent is saved field by field, and what stays is not sent', () => {
    expect(editsOf(before, before)).toEqual([])
    expect(editsOf(before, { ...before, role: ' Writes. ', dailyUsd: '10.0', monthlyUsd: '150' })).toEqual([
      { field: 'role', value: 'Writes.', reason: '', seen: 'Reads.' },
      {
        field: 'budget',
        value: { monthly_usd: 150 },
        reason: '',
        seen: { daily_usd: 10, monthly_usd: 200 },
      },
    ])
  })

  test('an emptied model follows the default, an emptied number or role stays', () => {
    const own = { ...before, model: 'openai/gpt' }
    expect(editsOf(own, { ...own, model: '', dailyUsd: '', role: ' ' })).toEqual([
      { field: 'model', value: null, reason: '', seen: 'openai/gpt' },
    ])
    expect(settingsText(before)).toContain('model: the fleet’s default')
  })
})
