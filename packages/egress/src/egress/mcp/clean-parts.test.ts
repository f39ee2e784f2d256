import { expect, test } from 'vitest'
import { createScrubs, createSecret } from '../../credentials/index.ts'
import { systemClock } from '../../../../foundation/src/platform/system-clock.ts'
import { ownLoop } from '../../../../testing/src/own-loop.ts'
import { roundsDuring } from '../../../../testing/src/rounds-during.ts'
import { createCleanPart } from './clean-parts.ts'

const secret = 'sk-live-0123456789'
const scrub = createScrubs()([createSecret('token', secret)])
const { signal } = new AbortController()

const part = (chars: number) => `${'x'.repeat(chars)} ${secret} end`

test('a long part is cleaned in steps between which the event loop runs', async () => {
  const clean = createCleanPart({ loop: ownLoop(), clock: systemClock })
  const cleaning = clean({ agentId: 'a', scrub, signal }, part(1024 * 1024))
  const { result: text, rounds } = await roundsDuring(cleaning)
  expect(text).not.toContain(secret)
  expect(text).toContain('[secret]')
  expect(rounds).toBeGreaterThan(10)
})

test('a short part of one agent does not wait for long parts of another', async () => {
  const clean = createCleanPart({ loop: ownLoop(), clock: systemClock })
  const order: string[] = []
  const long = Array.from({ length: 3 }, () =>
    clean({ agentId: 'greedy', scrub, signal }, part(1024 * 1024)).then(() => order.push('long')),
  )
  const short = clean({ agentId: 'modest', scrub, signal }, part(1000)).then(() => order.push('short'))
  await Promise.all([...long, short])
  expect(order[0]).toBe('short')
})

test('an agent that has used up its share of the loop waits, and the signal ends the wait', async () => {
  const loop = ownLoop()
  const waits: number[] = []
  const clean = createCleanPart({
    loop: { inSteps: loop.inSteps, waitMs: () => (waits.length === 0 ? 5000 : 0) },
    clock: { ...systemClock, sleep: async (ms) => void waits.push(ms) },
  })
  expect(await clean({ agentId: 'a', scrub, signal }, 'plain')).toBe('plain')
  expect(waits).toEqual([5000])
  const over = AbortSignal.abort(new Error('the run is over'))
  await expect(clean({ agentId: 'a', scrub, signal: over }, 'plain')).rejects.toThrow('the run is over')
  // A failed part blocks no other.
  expect(await clean({ agentId: 'a', scrub, signal }, 'next')).toBe('next')
})
