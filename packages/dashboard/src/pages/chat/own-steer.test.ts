import type { Origin } from '@flotilla/protocol/origin'
import { expect, it } from 'vitest'
import { isOwnSteer } from './own-steer.ts'

const by = (user?: string) => ({
  origin: { kind: 'human', channel: 'dashboard', ...(user === undefined ? {} : { user }) } as Origin,
})

it('a returned message goes to the person who wrote it, and to no other', () => {
  const bob = { name: 'bob', role: 'member' } as const
  const owner = { name: null, role: 'owner' } as const
  expect([isOwnSteer(by('bob'), bob), isOwnSteer(by('ann'), bob), isOwnSteer(by(), bob)]).toEqual([
    true,
    false,
    false,
  ])
  expect([isOwnSteer(by(), owner), isOwnSteer(by('bob'), owner)]).toEqual([true, false])
})
