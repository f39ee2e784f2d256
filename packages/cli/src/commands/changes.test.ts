import type { ChangeView } from '@flotilla/protocol/agent-edit'
import { describe, expect, test } from 'vitest'
import { wasBefore } from './changes.ts'

const change = (field: ChangeView['field'], before: ChangeView['before']) =>
  wasBefore({ field, agent_id: 'auditor', before } as ChangeView)

describe('an undone change', () => {
  test('undoing a change to a field that had no value is printed as a sentence', () => {
    expect(change('model', null)).toBe('auditor uses the model of the fleet again.')
    expect(change('SOUL.md', null)).toBe('auditor has no SOUL.md of its own again, as before.')
  })

  test('an undone change is reported with the restored value', () => {
    expect(change('role', 'Reads.')).toBe('role of auditor is restored: Reads.')
  })
})
