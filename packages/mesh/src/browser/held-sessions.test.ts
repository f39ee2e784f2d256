import { expect, test } from 'vitest'
import { briefFolderOf, requirePlace } from './held-sessions.ts'
import type { SessionState } from './session-state.ts'

const places = (states: Readonly<Record<string, SessionState['kind']>>) =>
  new Map(Object.entries(states).map(([id, kind]) => [id, { state: { kind, since: 0, reason: '' } }]))

test('a place is taken from the first step of opening until the container is gone, by others alone', () => {
  const sessions = places({ ann: 'opening', bob: 'live', cleo: 'closing', dan: 'failed', eve: 'closed' })
  expect(() => requirePlace(sessions, 'eve', 3)).toThrow(
    expect.objectContaining({
      code: 'browsers-full',
      detail: '3 of 3 browsers are open, by ann, bob, cleo; none is closed for another',
    }),
  )
  expect(() => requirePlace(sessions, 'bob', 3)).not.toThrow()
  expect(() => requirePlace(sessions, 'eve', 4)).not.toThrow()
})

test('whatever an agent is called, its folder is one below that of all', () => {
  expect(briefFolderOf('/briefs', '../x')).toBe('/briefs/2e2e2f78')
})
