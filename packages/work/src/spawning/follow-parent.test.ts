import { Problem } from '@flotilla/protocol/problem'
import { expect, test } from 'vitest'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { migrated } from '../../../testing/src/ledger-harness.ts'
import { followParent } from './follow-parent.ts'
import { createSpawnedTable } from './spawned-table.ts'
import { createFleetEvents } from '../../../fleet/src/events/index.ts'

test('a child whose row is missing does not block moving its parent', () => {
  const table = createSpawnedTable(migrated())
  const add = (agentId: string, parentId: string) =>
    table.insert({
      agentId,
      parentId,
      depth: 1,
      runId: null,
      taskId: null,
      state: 'making',
      reason: '',
      createdAt: 1,
      endsAt: 2,
    })
  add('spawn_making', 'boss')
  add('spawn_ending', 'boss')
  table.ends('spawn_ending', 'over')
  add('spawn_living', 'boss')
  add('spawn_below', 'spawn_living')
  const projects = new Map<string, string | null>([
    ['spawn_living', 'red'],
    ['spawn_below', 'red'],
  ])
  const fleetEvents = createFleetEvents(silentLog)
  const told: string[] = []
  const agents = {
    find: (id: string) => (projects.has(id) ? ({ project: projects.get(id) ?? null } as never) : null),
    setProject: (id: string, project: string | null) => {
      if (!projects.has(id)) throw new Problem('unknown-agent')
      projects.set(id, project)
    },
  }
  fleetEvents.membershipChanged.subscribe((change) => {
    told.push(change.agentId)
    followParent({ table, agents, fleetEvents }, change)
  })
  fleetEvents.membershipChanged.publish({ agentId: 'boss', project: 'blue' })
  expect([...projects]).toEqual([
    ['spawn_living', 'blue'],
    ['spawn_below', 'blue'],
  ])
  expect(told).toEqual(['boss', 'spawn_living', 'spawn_below'])
})
