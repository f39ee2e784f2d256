import { expect, test } from 'vitest'
import { endpointTables } from '../tests/support/all-endpoints.ts'

const endpoints = [...new Set([...(await endpointTables()).values()].flat())]

/** The verbs with which a summary may begin. A new verb can be added if it names what the caller requests. */
const verbs = new Set(
  (
    'Abort Accept Add Answer Apply Archive Ask Call Cancel Carry Change Check Close Complete Compute Confirm Count ' +
    'Create Delete Deliver Disable End Enter Exchange Fire Forward Give Hand Hibernate Import Let List Open Pause Pay ' +
    'Process Publish Rate Read Receive Refuse Remove Renew Replace Replay Request Restart Restore Return Run Save ' +
    'Search Send Set Show Simulate Start Stop Store Stream Subscribe Terminate Undo Unlock Unsubscribe Verify Wait Withdraw Write'
  ).split(' '),
)

test('the summary of each endpoint is imperative sentences that begin with a verb', () => {
  const others = endpoints.filter(
    ({ summary }) => !verbs.has(/^\w+/.exec(summary)?.[0] ?? '') || !/^[^;]+\.$/.test(summary),
  )
  expect(others.map(({ method, path, summary }) => `${method} ${path}: ${summary}`)).toEqual([])
})

test('the summary of each endpoint is short enough for one line of a table', () => {
  expect(endpoints.filter(({ summary }) => summary.length > 100)).toEqual([])
})
