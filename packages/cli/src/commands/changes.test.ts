import type { ChangeView } from '@flotilla/protocol/agent-edit'
import { describe, expect, test } from 'vitest'
import { wasBefore } from './changes.ts'

const change = (field: ChangeView['field'], before: ChangeView['before']) =>
  wasBefore({ field, agent_id: 'auditor', before } as ChangeView)

describe('a change that was taken back', () => {
  test('is told as a sentence where there was nothing before', () => {
    expect(change('model', null)).toBe('auditor uses the model of the fleet again.')
    expect(change('SOUL.md', null)).toBe('auditor has no SOUL.md of its own again, as before.')
  })

  test('is told with what stands there again', () => {
    expect(change('role', 'Reads.')).toBe('role of auditor is as it was before: Reads.')
  })
})
