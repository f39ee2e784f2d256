import { expect, test } from 'vitest'
import { loopCpuMs, systemClock } from '../platform/index.ts'
import { roundsDuring } from '../../../testing/src/rounds-during.ts'
import { createLoopShare } from './loop-share.ts'
import type { StepWork } from './loop-share.ts'
import { createLoopTurns } from './loop-turns.ts'

const moreThanAShare = 2000

/** Work that takes many milliseconds of processor time and can pause after each. */
function* counting(order: string[], name: string, steps: number): StepWork<string> {
  for (let step = 0; step < steps; step++) {
    busyMs(1)
    order.push(name)
    yield
  }
  return name
}

function busyMs(ms: number): void {
  const until = loopCpuMs() + ms
  while (loopCpuMs() < until);
}

function aShare(msPerMinute: number) {
  const turns = createLoopTurns({ cpuMs: loopCpuMs })
  return createLoopShare({ clock: systemClock, cpuMs: loopCpuMs, msPerMinute, turns, what: 'calls' })
}

test('the event loop runs between the steps of long work', async () => {
  const share = aShare(6000)
  const order: string[] = []
  const { result, rounds } = await roundsDuring(share.inSteps('a', counting(order, 'a', 60), 'finish'))
  expect(result).toBe('a')
  expect(order).toHaveLength(60)
  // Sixty milliseconds of work in steps of five.
  expect(rounds).toBeGreaterThan(8)
})

test('work of two agents alternates, however much the first has started', async () => {
  const share = aShare(60_000)
  const order: string[] = []
  const greedy = Array.from({ length: 10 }, () =>
    share.inSteps('greedy', counting(order, 'greedy', 20), 'finish'),
  )
  const modest = share.inSteps('modest', counting(order, 'modest', 20), 'finish')
  await modest
  // Ten first steps ran before; after them the workers alternate.
  const ofGreedy = order.filter((name) => name === 'greedy').length
  expect(ofGreedy).toBeLessThan(120)
  await Promise.all(greedy)
})

test('work that is refused ends between two steps, and other work continues', async () => {
  const share = aShare(100)
  const order: string[] = []
  await expect(share.inSteps('a', counting(order, 'a', moreThanAShare), 'refuse')).rejects.toMatchObject({
    code: 'rate-limited',
  })
  expect(order.length).toBeLessThan(300)
  await share.inSteps('b', counting(order, 'b', 5), 'refuse')
  expect(() => share.require('b')).not.toThrow()
})

test('work for people is charged to no agent', async () => {
  const share = aShare(5)
  const order: string[] = []
  expect(await share.inSteps(null, counting(order, 'people', 30), 'refuse')).toBe('people')
})

test('an agent that has used much lately waits for its turn, and another does not', async () => {
  const share = aShare(6000)
  expect(share.turn('a')).toBeNull()
  share.spend('a', () => busyMs(80))
  const turn = share.turn('a')
  expect(turn).not.toBeNull()
  expect(share.turn('b')).toBeNull()
  await turn
})

test('short calls one after the other use up the burst, though a part of their time is not charged', () => {
  let now = 0
  let cpuMs = 0
  const clock = { now: () => now, sleep: () => Promise.resolve() }
  const turns = { next: () => Promise.resolve() }
  const share = createLoopShare({ clock, cpuMs: () => cpuMs, msPerMinute: 20_000, turns, what: 'calls' })
  const callsBeforeTurn = Array.from({ length: 100 }, () => {
    const mustWait = share.turn('a') !== null
    share.spend('a', () => (cpuMs += 2.5))
    now += 4.5
    return mustWait
  }).indexOf(true)
  expect(callsBeforeTurn).toBeGreaterThan(5)
  expect(callsBeforeTurn).toBeLessThan(20)
})
