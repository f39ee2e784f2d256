import { Problem } from '@flotilla/protocol/problem'
import { expect, test } from 'vitest'
import { createFairShare, hasRoom } from './fair-share.ts'
import { createHeldBytes } from './held-bytes.ts'
import { createLoopShare } from './loop-share.ts'
import { createLoopTurns } from './loop-turns.ts'
import { agentShareLimits } from './agent-share-limits.ts'

const refusalOf = (work: () => unknown): Problem | null => {
  try {
    work()
    return null
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
}

const bounds = { max: 120, perAgentMax: 40, floor: 5, reserveMax: 20 }

test('one agent gets its share of the bytes and no more', () => {
  const held = createHeldBytes(bounds)
  held.take('greedy', 40)
  expect(refusalOf(() => held.take('greedy', 1))).toMatchObject({
    code: 'rate-limited',
    retryAfterSeconds: 2,
  })
  held.giveBack('greedy', 40)
  held.take('greedy', 40)
})

test('agents that take all they can still leave some for the next, and each gets its floor', () => {
  const held = createHeldBytes(bounds)
  const taken = (agentId: string) => {
    let bytes = 0
    while (bytes < 100 && refusalOf(() => held.take(agentId, 1)) === null) bytes++
    return bytes
  }
  expect(['a', 'b', 'c', 'd'].map(taken)).toEqual([40, 37, 21, 13])
  // The reserve is used up; half of the free space is still available.
  expect(taken('e')).toBe(4)
  for (const [agentId, bytes] of [
    ['a', 40],
    ['b', 37],
    ['c', 21],
    ['d', 13],
    ['e', 4],
  ] as const)
    held.giveBack(agentId, bytes)
  expect(taken('f')).toBe(40)
})

test('a refusal names the limit that was reached and the time to retry', () => {
  const held = createHeldBytes(bounds)
  held.take('a', 40)
  expect(refusalOf(() => held.take('a', 1))?.detail).toBe(
    'the mesh holds 40 bytes of requests of this agent, and the maximum for one agent is 40; try again in 2 seconds',
  )
  held.take('b', 37)
  held.take('c', 21)
  const crowded = refusalOf(() => held.take('d', 30))
  expect(crowded?.detail).toBe(
    'the mesh holds the maximum of request bytes for all agents and cannot take 30 more now; try again in 2 seconds',
  )
  expect(crowded?.detail).not.toContain(String(bounds.max))
  expect(crowded?.retryAfterSeconds).toBe(2)
})

test('a refused amount is not counted', () => {
  const held = createHeldBytes(bounds)
  for (let times = 0; times < 10; times++) refusalOf(() => held.take('a', 41))
  expect(refusalOf(() => held.take('a', 40))).toBeNull()
})

/** A processor and a clock that the test advances. */
function aLoop() {
  const time = { now: 0, cpu: 0 }
  const share = createLoopShare({
    clock: { now: () => time.now, sleep: async () => {} },
    cpuMs: () => time.cpu,
    msPerMinute: 600,
    turns: createLoopTurns({ cpuMs: () => time.cpu }),
    what: 'calls of this agent',
  })
  const work = (agentId: string, ms: number) => share.spend(agentId, () => void (time.cpu += ms))
  return { time, share, work }
}

test('an agent that has used its share of the loop waits until some is restored, and others do not', () => {
  const { time, share, work } = aLoop()
  work('a', 600)
  share.require('a')
  work('a', 60)
  expect(refusalOf(() => share.require('a'))).toMatchObject({ code: 'rate-limited', retryAfterSeconds: 6 })
  share.require('b')
  time.now += 5999
  expect(share.waitMs('a')).toBe(1)
  time.now += 1
  share.require('a')
  time.now += 60_000
  work('a', 600)
  share.require('a')
})

test('failing work is charged as well, and waiting is not', () => {
  const { time, share } = aLoop()
  refusalOf(() =>
    share.spend('a', () => {
      time.cpu += 700
      throw new Problem('bad-json')
    }),
  )
  expect(refusalOf(() => share.require('a'))?.code).toBe('rate-limited')
  share.forget('a')
  share.spend('a', () => void (time.now += 10_000))
  share.require('a')
})

test('nested work is charged once', () => {
  const { share, work } = aLoop()
  share.spend('a', () => work('a', 400))
  share.require('a')
  work('a', 200)
  share.require('a')
  work('a', 1)
  expect(refusalOf(() => share.require('a'))?.code).toBe('rate-limited')
})

test.each(['lookups', 'mediaFetches', 'tunnels', 'mcpExchanges'] as const)(
  'with %s, an agent without a slot gets one while hundreds of other agents take all they can',
  (what) => {
    const share = createFairShare(agentShareLimits[what])
    const takeAll = (agentId: string) => {
      let taken = 0
      while (share.take(agentId, 1) === null) taken++
      return taken
    }
    const first = takeAll('greedy')
    expect(first).toBe(agentShareLimits[what].perAgentMax)
    for (let agent = 0; agent < 900; agent++) takeAll(`agent-${agent}`)
    expect(takeAll('late')).toBe(1)
  },
)

test('a table is full for an agent at its share, and for all agents except those below their floor', () => {
  const bounds = { max: 100, perAgentMax: 40, floor: 2 }
  expect(hasRoom({ own: 39, total: 99 }, bounds)).toBe(true)
  expect(hasRoom({ own: 40, total: 40 }, bounds)).toBe(false)
  expect(hasRoom({ own: 2, total: 100 }, bounds)).toBe(false)
  expect(hasRoom({ own: 1, total: 5000 }, bounds)).toBe(true)
})
