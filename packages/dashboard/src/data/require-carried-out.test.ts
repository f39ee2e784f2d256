import { approvalStates } from '@flotilla/protocol/agent-edit'
import { expect, test } from 'vitest'
import { confirmedWords, requireCarriedOut } from './require-carried-out.ts'

test('an approval counts as carried out if its action is done or in progress, and the words say which', () => {
  const passed = approvalStates.filter((state) => {
    try {
      requireCarriedOut({ state, detail: '' })
      return true
    } catch {
      return false
    }
  })
  expect(passed).toEqual(['confirmed', 'done'])
  expect(confirmedWords({ state: 'confirmed' })).toContain('is being carried out')
  expect(confirmedWords({ state: 'done' })).toBe('The action was carried out.')
})

test('an action that failed after its confirmation is reported with its reason', () => {
  const failed = { state: 'failed', detail: 'the agent no longer exists' } as const
  expect(() => requireCarriedOut(failed)).toThrow('The agent no longer exists.')
  expect(() => requireCarriedOut({ state: 'expired', detail: '' })).toThrow('the approval is expired')
})
