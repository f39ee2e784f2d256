import { expect, test } from 'vitest'
import { systemClock } from '../../../../foundation/src/platform/index.ts'
import type { AgentRow } from '../registry/agent-table.ts'
import { createAgentLinks } from './agent-links.ts'
import { createMeshIdentity } from './mesh-identity.ts'

function links(crossesMachines: boolean, secret = 'secret') {
  const row = { startId: 'start-2', state: { kind: 'running' } } as unknown as AgentRow
  const rows = new Map([['scout', row]])
  const agents = { find: (id: string) => rows.get(id) ?? null }
  const identity = createMeshIdentity({ secret, clock: systemClock })
  return { rows, row, links: createAgentLinks({ crossesMachines, agents, identity }) }
}

test('a key is of one start of one agent, and the same again for the mesh that comes after', () => {
  const key = (secret: string, agentId: string, startId: string) =>
    Buffer.from(links(true, secret).links.keyFor(agentId, startId)?.key ?? '').toString('hex')
  const asked = [
    key('secret', 'scout', 'start-1'),
    key('secret', 'scout', 'start-2'),
    key('secret', 'clerk', 'start-1'),
    key('other', 'scout', 'start-1'),
  ]
  expect(new Set(asked).size).toBe(asked.length)
  expect(asked[0]).toHaveLength(64)
  expect(key('secret', 'scout', 'start-1')).toBe(asked[0])
})

test('agents on one machine have no link keys', () => {
  expect(links(false).links.keyFor('scout', 'start-1')).toBeNull()
})

test('only the last start of an agent that is up is let in', () => {
  const { links: made, rows, row } = links(true)
  const told = (startId: string, agentId: string) => made.keyFor(agentId, startId)?.identity ?? ''
  expect(made.find(told('start-2', 'scout'))).toEqual({
    agentId: 'scout',
    key: made.keyFor('scout', 'start-2')?.key,
  })
  for (const identity of [
    told('start-1', 'scout'),
    told('start-2', 'clerk'),
    '',
    'scout',
    '.scout',
    'start-2.',
  ])
    expect(made.find(identity)).toBeNull()
  for (const kind of ['starting', 'stopping', 'stopped', 'quarantined']) {
    rows.set('scout', { ...row, state: { kind } } as AgentRow)
    expect(made.find(told('start-2', 'scout')) !== null).toBe(kind === 'starting')
  }
})

test('connections are kept for one start and not for the next', () => {
  const { links: made, rows, row } = links(true)
  const first = made.httpOf('scout')
  expect(made.httpOf('scout')).toBe(first)
  rows.set('scout', { ...row, startId: 'start-3' })
  expect(made.httpOf('scout')).not.toBe(first)
  made.close()
})
