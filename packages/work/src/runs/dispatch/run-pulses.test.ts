import { expect, test } from 'vitest'
import { createRunPulses, silenceMaxMs } from './run-pulses.ts'

const run = { id: 'run_1', fence: 3 }

function aWatch() {
  let now = 1_000_000
  const pulses = createRunPulses({ now: () => now, sleep: async () => {} })
  const pass = (ms: number, stepMs = 1000) => {
    let silent = pulses.check(() => run.fence)
    for (let passed = 0; passed < ms; passed += stepMs) {
      now += stepMs
      silent = pulses.check(() => run.fence)
    }
    return silent
  }
  return { pulses, pass }
}

test('a run whose loop sends heartbeats is never silent for too long', () => {
  const { pulses, pass } = aWatch()
  pulses.begin(run)
  for (let beats = 0; beats < 20; beats++) {
    expect(pass(silenceMaxMs - 1000)).toEqual([])
    pulses.heartbeat(run)
  }
})

test('a run without a heartbeat is silent for too long once the limit has passed, and stays so', () => {
  const { pulses, pass } = aWatch()
  pulses.begin(run)
  expect(pass(silenceMaxMs - 1000)).toEqual([])
  expect(pass(1000)).toEqual([run])
  pulses.begin(run)
  expect(pass(1000)).toEqual([run])
})

test('an hour in which the machine slept counts as one check', () => {
  const { pulses, pass } = aWatch()
  pulses.begin(run)
  expect(pass(3600_000, 3600_000)).toEqual([])
  expect(pulses.silentMs(run)).toBe(5000)
})

test('another attempt gets the whole time again, and an attempt that no longer runs is forgotten', () => {
  const { pulses, pass } = aWatch()
  pulses.begin(run)
  pass(60_000)
  const next = { id: run.id, fence: 4 }
  pulses.begin(next)
  expect(pulses.silentMs(next)).toBe(0)
  expect(pass(1000)).toEqual([])
  expect(pulses.silentMs(next)).toBe(0)
})
