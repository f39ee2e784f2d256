import type { ApprovalView } from '@flotilla/protocol/agent-edit'
import { expect, test } from 'vitest'
import { openApprovals } from './use-open-approvals.ts'

test('an approval whose action goes on does not wait for a person', () => {
  const asked = { id: 'appr_1', state: 'pending' } as ApprovalView
  const confirmed = { id: 'appr_2', state: 'confirmed' } as ApprovalView
  expect(openApprovals([asked, confirmed])).toEqual({ asked: [asked], carriedOut: new Set(['appr_2']) })
})
