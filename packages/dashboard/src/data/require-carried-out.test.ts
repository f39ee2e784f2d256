import { approvalStates } from '@flotilla/protocol/agent-edit'
import { expect, test } from 'vitest'
import { requireCarriedOut } from './require-carried-out.ts'

test('an approval counts as carried out in the state done alone', () => {
  const passed = approvalStates.filter((state) => {
    try {
      requireCarriedOut({ state, detail: '' })
      return true
    } catch {
      return false
    }
  })
  expect(passed).toEqual(['done'])
})

test('an action that failed after its confirmation is reported with its reason', () => {
  const failed = { state: 'failed', detail: 'the agent no longer exists' } as const
  expect(() => requireCarriedOut(failed)).toThrow('The agent no longer exists.')
  expect(() => requireCarriedOut({ state: 'confirmed', detail: '' })).toThrow('not known yet')
})
