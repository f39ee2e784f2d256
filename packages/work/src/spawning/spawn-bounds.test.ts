import { spawnLimits } from '@flotilla/protocol/limits'
import { spawnRequestSchema } from '@flotilla/protocol/spawn-api'
import { describe, expect, test } from 'vitest'
import { depthBelow, endOfLife, whyBusy } from './spawn-bounds.ts'
import type { SpawnRoom } from './spawn-bounds.ts'

const room = (asked: Partial<SpawnRoom> = {}): SpawnRoom => ({
  parentId: 'scout',
  parent: null,
  ofParent: 2,
  ofFleet: 14,
  bounds: { per_parent: 3, fleet: 20 },
  ...asked,
})
const spawned = (row: Partial<NonNullable<SpawnRoom['parent']>> = {}) =>
  ({ state: 'living', depth: 1, endsAt: 5000, ...row }) as const

describe('room for one more spawned agent', () => {
  test('agents can be spawned up to the limits of the parent and of the fleet', () => {
    expect(whyBusy(room())).toBeNull()
    expect(whyBusy(room({ ofParent: 3 }))).toContain('scout already has 3 spawned agents')
    expect(whyBusy(room({ ofFleet: 20 }))).toContain('the fleet already has 20')
    expect(whyBusy(room({ bounds: { per_parent: 0, fleet: 20 }, ofParent: 0 }))).toContain(
      'has 0 spawned agents',
    )
    expect(whyBusy(room({ bounds: { per_parent: 3, fleet: 0 }, ofFleet: 0 }))).toContain(
      'has 0 spawned agents',
    )
  })

  test('the last quarter of the fleet is for agents that have spawned none', () => {
    expect(whyBusy(room({ ofFleet: 15 }))).toContain(
      'the last 5 of 20 are reserved for agents that have spawned none',
    )
    expect(whyBusy(room({ ofFleet: 15, ofParent: 0, parent: spawned() }))).toContain('the last 5 of 20')
    expect(whyBusy(room({ ofFleet: 19, ofParent: 0 }))).toBeNull()
    expect(whyBusy(room({ ofFleet: 20, ofParent: 0 }))).toContain('the fleet already has 20')
    expect(whyBusy(room({ ofFleet: 2, bounds: { per_parent: 3, fleet: 3 } }))).toBeNull()
  })

  test('agents cannot be spawned more than two levels deep', () => {
    expect(spawnLimits.depthMax).toBe(2)
    expect([depthBelow(null), depthBelow(spawned()), depthBelow(spawned({ depth: 2 }))]).toEqual([1, 2, 3])
    expect(whyBusy(room({ parent: spawned() }))).toBeNull()
    expect(whyBusy(room({ parent: spawned({ depth: 2 }) }))).toContain('at most 2 deep')
  })

  test.each(['making', 'ending'] as const)('no agent can be spawned below a parent that is %s', (state) => {
    expect(whyBusy(room({ parent: spawned({ state }) }))).toBe('scout is being created or ended')
  })
})

test('a spawned agent lives 60 s to 24 h and no longer than a spawned parent', () => {
  const asked = (ttl: number) =>
    spawnRequestSchema.safeParse({ role: 'r', task: 't', system_prompt: '', permissions: {}, ttl }).success
  expect([59, 60, 86_400, 86_401].map(asked)).toEqual([false, true, true, false])
  expect(endOfLife(null, { createdAt: 1000, ttlSeconds: 60 })).toBe(61_000)
  expect(endOfLife(spawned({ endsAt: 61_001 }), { createdAt: 1000, ttlSeconds: 60 })).toBe(61_000)
  expect(endOfLife(spawned({ endsAt: 5000 }), { createdAt: 1000, ttlSeconds: 60 })).toBe(5000)
})
