import { expect, test } from 'vitest'
import { endWords, nextStep } from './restart-pace.ts'
import type { MeshEnd } from './restart-pace.ts'

const killed: MeshEnd = { code: null, signal: 'SIGKILL', problem: null, wasReady: true, livedMs: 1000 }

test('a mesh that was asked to end, or that only its owner can mend, is not started again', () => {
  expect(nextStep({ ...killed, code: 0, signal: null }, 0)).toMatchObject({ restart: false })
  expect(nextStep({ ...killed, code: 78, signal: null }, 0)).toMatchObject({ restart: false })
})

test('a crash loop waits twice as long each time, up to half a minute and for ever', () => {
  const delays: number[] = []
  let failures = 0
  for (let count = 0; count < 40; count++) {
    const next = nextStep(killed, failures)
    if (!next.restart) throw new Error('it gave up')
    delays.push(next.delayMs)
    failures = next.failures
  }
  expect(delays.slice(0, 8)).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000])
  expect(delays.at(-1)).toBe(30_000)
})

test('a mesh that worked for a minute begins the delays anew, and one that only tried to start does not', () => {
  expect(nextStep({ ...killed, livedMs: 60_000 }, 9)).toMatchObject({ delayMs: 500, failures: 1 })
  expect(nextStep({ ...killed, livedMs: 60_000, wasReady: false }, 9)).toMatchObject({ delayMs: 30_000 })
})

test.each(['disk-full', 'storage-failing', 'too-many-files'])(
  'a start that met %s is tried again within two seconds, so that a fleet is healed soon after its disk',
  (problem) => {
    expect(nextStep({ ...killed, code: 1, signal: null, problem, wasReady: false }, 20)).toMatchObject({
      delayMs: 2000,
    })
  },
)

test('a crash after many starts that the storage refused is not waited out for long', () => {
  let failures = 0
  for (let count = 0; count < 20; count++) {
    const next = nextStep(
      { ...killed, code: 74, signal: null, problem: 'disk-full', wasReady: false },
      failures,
    )
    if (!next.restart) throw new Error('it gave up')
    failures = next.failures
  }
  expect(nextStep(killed, failures)).toMatchObject({ delayMs: 4000 })
})

test('the supervisor says how a mesh ended', () => {
  expect(endWords(killed)).toBe('killed by SIGKILL')
  expect(endWords({ code: 1, signal: null, problem: 'disk-full' })).toBe('exit code 1, disk-full')
})
