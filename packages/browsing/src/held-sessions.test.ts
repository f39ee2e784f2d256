import { expect, test } from 'vitest'
import { briefFolderOf, requirePlace } from './held-sessions.ts'
import type { SessionState } from './session-state.ts'

const places = (states: Readonly<Record<string, SessionState['kind']>>) =>
  new Map(Object.entries(states).map(([id, kind]) => [id, { state: { kind, since: 0, reason: '' } }]))

test('a place is taken from the first step of opening until the container is gone, by others alone', () => {
  const sessions = places({ ann: 'opening', bob: 'live', cleo: 'closing', dan: 'failed', eve: 'closed' })
  const rootOf = (agentId: string) => agentId
  expect(() => requirePlace(sessions, 'eve', { max: 3, rootOf })).toThrow(
    expect.objectContaining({
      code: 'browsers-full',
      detail:
        '3 of 3 browsers are open, for the agents ann, bob, cleo; no browser in use is closed for another agent',
    }),
  )
  expect(() => requirePlace(sessions, 'bob', { max: 3, rootOf })).not.toThrow()
  expect(() => requirePlace(sessions, 'eve', { max: 4, rootOf })).not.toThrow()
})

test('an agent with those that it made leaves the last of several places to others', () => {
  const sessions = places({ ann: 'live', 'spawn-1': 'opening', 'spawn-2': 'closed', bob: 'closed' })
  const rootOf = (agentId: string) => (agentId.startsWith('spawn') ? 'ann' : agentId)
  expect(() => requirePlace(sessions, 'spawn-2', { max: 3, rootOf })).toThrow(
    expect.objectContaining({
      code: 'browsers-full',
      detail: expect.stringContaining('reserved for other agents'),
    }),
  )
  expect(() => requirePlace(sessions, 'bob', { max: 3, rootOf })).not.toThrow()
  expect(() => requirePlace(sessions, 'spawn-2', { max: 4, rootOf })).not.toThrow()
  const none = places({ 'spawn-1': 'closed' })
  expect(() => requirePlace(none, 'spawn-1', { max: 1, rootOf })).not.toThrow()
})

test('whatever an agent is called, its folder is one below that of all', () => {
  expect(briefFolderOf('/briefs', '../x')).toBe('/briefs/2e2e2f78')
})
