import { expect, it } from 'vitest'
import { migrated } from '../../../testing/src/ledger-harness.ts'
import type { Caller } from '../access/index.ts'
import { createOwnNames } from './own-names.ts'

const owner: Caller = { kind: 'human', role: 'owner', channel: 'dashboard' }
const ann: Caller = { kind: 'human', role: 'viewer', channel: 'dashboard', person: 'ann' }
const change = { kind: 'conversations', key: 'scout dashboard', name: 'Licences' } as const

it('each person has their own names, on every channel, until the person leaves', () => {
  const names = createOwnNames(migrated())
  expect(names.change(owner, change).conversations).toEqual({ 'scout dashboard': 'Licences' })
  names.change(ann, { ...change, name: 'Mine' })
  expect(names.of({ ...owner, channel: 'cli' }).conversations).toEqual({ 'scout dashboard': 'Licences' })
  names.remove('ann')
  expect(names.of(ann).conversations).toEqual({})
  expect(names.of(owner).conversations).toEqual({ 'scout dashboard': 'Licences' })
})

it('an agent has no such names', () => {
  const names = createOwnNames(migrated())
  const agent: Caller = { kind: 'agent', agentId: 'scout', token: 'door', run: null }
  expect(() => names.of(agent)).toThrow(expect.objectContaining({ code: 'denied' }))
  expect(() => names.change(agent, change)).toThrow(expect.objectContaining({ code: 'denied' }))
})
