import { expect, test } from 'vitest'
import type { MeshInstance } from '../supervise-mesh.ts'
import { checkEnds, ownEnds } from './check-ends.ts'

function ended(number: number, changes: Partial<MeshInstance> = {}): MeshInstance {
  return {
    number,
    startedAt: 0,
    killedBeforeAt: null,
    readyAt: null,
    endedAt: 9,
    killed: false,
    lines: [],
    errors: '',
    ...changes,
  }
}

const saying = (code: string) => ({ lines: [{ at: 1, said: { problem: { code } } }] })

test('a start that the storage refused is no finding, and any other end that the test did not cause is one', () => {
  const instances = [
    ended(1, { killed: true }),
    ended(2, saying('disk-full')),
    ended(3, saying('too-many-files')),
    ended(4, saying('home-unusable')),
    ended(5),
    ended(6, { readyAt: 5, ...saying('disk-full') }),
    ended(7),
  ]
  expect(ownEnds(instances).refused.map(({ number }) => number)).toEqual([2, 3])
  expect(checkEnds(instances).map(({ check, what }) => `${check}: ${what}`)).toEqual([
    'ended-by-itself: instance 6 of the mesh ended without being killed',
    'start-failed: instance 4 of the mesh failed to start, and not for the storage',
    'start-failed: instance 5 of the mesh failed to start, and not for the storage',
  ])
})
