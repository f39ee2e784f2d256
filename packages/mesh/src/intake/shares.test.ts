import { Problem } from '@flotilla/protocol/problem'
import { expect, test } from 'vitest'
import { createHeldBytes } from './held-bytes.ts'
import { createLoopShare } from './loop-share.ts'

const refusalOf = (work: () => unknown): Problem | null => {
  try {
    work()
    return null
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
}

test('one agent keeps its share of the bytes and no more, and leaves the rest to others', () => {
  const held = createHeldBytes({ heldMaxBytes: 100, heldPerAgentMaxBytes: 40 })
  held.take('greedy', 40)
  expect(refusalOf(() => held.take('greedy', 1))).toMatchObject({
    code: 'rate-limited',
    retryAfterSeconds: 2,
  })
  held.take('b', 40)
  held.take('c', 20)
  expect(refusalOf(() => held.take('d', 1))?.code).toBe('rate-limited')
  held.giveBack('greedy', 40)
  held.take('d', 40)
  held.giveBack('b', 40)
  held.giveBack('c', 20)
  held.giveBack('d', 40)
  for (const agent of ['e', 'f']) held.take(agent, 40)
  held.take('g', 20)
})

test('what is refused is not counted', () => {
  const held = createHeldBytes({ heldMaxBytes: 100, heldPerAgentMaxBytes: 40 })
  for (let times = 0; times < 10; times++) refusalOf(() => held.take('a', 41))
  expect(refusalOf(() => held.take('a', 40))).toBeNull()
})

/** A processor and a clock that move when the test says. */
function aLoop() {
  const time = { now: 0, cpu: 0 }
  const share = createLoopShare({
    clock: { now: () => time.now, sleep: async () => {} },
    cpuMs: () => time.cpu,
    msPerMinute: 600,
    what: 'calls of this agent',
  })
  const work = (agentId: string, ms: number) => share.spend(agentId, () => void (time.cpu += ms))
  return { time, share, work }
}

test('an agent that has used its share of the loop waits until some of it is back, and others do not', () => {
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

test('work that fails is charged as well, and waiting is not', () => {
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

test('work within work is charged once', () => {
  const { share, work } = aLoop()
  share.spend('a', () => work('a', 400))
  share.require('a')
  work('a', 200)
  share.require('a')
  work('a', 1)
  expect(refusalOf(() => share.require('a'))?.code).toBe('rate-limited')
})
