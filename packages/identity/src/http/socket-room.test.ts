import { describe, expect, test } from 'vitest'
import { socketLimits, socketObstacle } from './socket-room.ts'
import type { SocketReader } from './socket-room.ts'

const times = (count: number, reader: SocketReader) => Array.from({ length: count }, () => reader)
const viewer = (name: string): SocketReader => ({ person: name, role: 'viewer' })
const owner: SocketReader = { person: null, role: 'owner' }
const { perPersonMax, perOwnerMax, noOwnersMax, namedMax } = socketLimits

describe('room for one more socket', () => {
  test('room for one more socket is for each person as long as they have fewer than one may have, whatever others have', () => {
    expect(socketObstacle(times(perPersonMax - 1, viewer('vic')), viewer('vic'))).toBeNull()
    expect(socketObstacle(times(perPersonMax, viewer('vic')), viewer('vic'))).toMatch(
      /^vic has 16 open event connections/,
    )
    expect(socketObstacle(times(perPersonMax, viewer('vic')), viewer('ann'))).toBeNull()
    const max: SocketReader = { person: 'max', role: 'owner' }
    expect(socketObstacle(times(perOwnerMax - 1, max), max)).toBeNull()
    expect(socketObstacle(times(perOwnerMax, max), max)).toMatch(/^max has 32 open event connections/)
    expect(socketObstacle(times(perOwnerMax, owner), owner)).toMatch(
      /^the owner has 32 open event connections/,
    )
  })

  test('some sockets stay free for owners, however many other people use theirs', () => {
    const others = Array.from({ length: noOwnersMax / perPersonMax }, (_, at) =>
      times(perPersonMax, viewer(`v${at}`)),
    ).flat()
    expect(socketObstacle(others.slice(1), viewer('ann'))).toBeNull()
    expect(socketObstacle(others, viewer('ann'))).toMatch(/not owners have 96/)
    expect(socketObstacle(others, { person: 'ann', role: 'member' })).toMatch(/not owners have 96/)
    expect(socketObstacle(others, { person: 'max', role: 'owner' })).toBeNull()
  })

  test('room for one more socket is always for the owner of the mesh, also where named owners have all', () => {
    const owners = Array.from({ length: namedMax / perOwnerMax }, (_, at) =>
      times(perOwnerMax, { person: `o${at}`, role: 'owner' as const }),
    ).flat()
    expect(socketObstacle(owners, { person: 'max', role: 'owner' })).toMatch(/^128 event connections/)
    expect(socketObstacle(owners.slice(1), { person: 'max', role: 'owner' })).toBeNull()
    expect(socketObstacle(owners, owner)).toBeNull()
    // Sockets of the owner do not count against other people.
    const all = [...owners.slice(1), ...times(perOwnerMax, owner)]
    expect(socketObstacle(all, { person: 'max', role: 'owner' })).toBeNull()
  })
})
