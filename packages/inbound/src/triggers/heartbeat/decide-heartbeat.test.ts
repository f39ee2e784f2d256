import { describe, expect, test } from 'vitest'
import { verifies } from '../../../../../tests/verifies.ts'
import { isSkipped } from './decide-heartbeat.ts'

const both = [false, true]
const table = both.flatMap((manual) =>
  both.flatMap((defaultRules) =>
    both.flatMap((recentActivity) =>
      both.map((probeTriggered) => ({ manual, defaultRules, recentActivity, probeTriggered })),
    ),
  ),
)

describe('the decision on a due heartbeat', () => {
  test('a due heartbeat is skipped in one case of sixteen', () => {
    verifies('states:heartbeat:skipped', 'states:heartbeat:runs')
    expect(table).toHaveLength(16)
    expect(table.filter(isSkipped)).toEqual([
      { manual: false, defaultRules: true, recentActivity: false, probeTriggered: false },
    ])
  })
})
