import { expect, test } from 'vitest'
import { createScrubs, createSecret } from '../../credentials/index.ts'
import { systemClock } from '../../../../foundation/src/platform/system-clock.ts'
import { createLoopShare } from '../../../../foundation/src/intake/loop-share.ts'
import { createLoopTurns } from '../../../../foundation/src/intake/loop-turns.ts'
import { ownLoop } from '../../../../testing/src/own-loop.ts'
import { roundsDuring } from '../../../../testing/src/rounds-during.ts'
import { createCleanPart, searchPlaces } from './clean-parts.ts'
import { exchangeBounds } from './exchange-with-server.ts'

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

/** A share of the loop that records which agent each step belongs to. Each reading of the CPU time advances it. */
function countedLoop() {
  const steps: string[] = []
  let readings = 0
  const cpuMs = () => readings++ / 2
  const turns = createLoopTurns({ cpuMs })
  const next = (worker: string) => {
    steps.push(worker)
    return turns.next(worker)
  }
  const share = { clock: systemClock, cpuMs, msPerMinute: 1e9, turns: { next }, what: 'calls' }
  return { loop: createLoopShare(share), steps }
}

test.each([
  [70_000, 600_000],
  [70_000, 300_000],
  [70_000, 70_000],
  [300_000, 600_000],
])(
  'a part of %i characters takes turns of one step with parts of %i characters of eight agents',
  async (own, others) => {
    const { loop, steps } = countedLoop()
    const clean = createCleanPart({ loop, clock: systemClock })
    const over = new AbortController()
    const greedy = Array.from({ length: 8 }, async (_one, index) => {
      while (!over.signal.aborted) await clean({ agentId: `greedy${index}`, scrub, signal }, part(others))
    })
    const modest = clean({ agentId: 'modest', scrub, signal }, part(own))
    expect(await modest).toContain('[secret] end')
    const ofModest = steps.filter((agentId) => agentId === 'modest').length
    // The place of the ninth part of one size is free after one part of another agent, of the same steps.
    const rounds = own === others ? 2 * (ofModest + 2) : ofModest + 2
    expect(ofModest).toBeGreaterThan(2)
    expect(steps.length - ofModest).toBeLessThanOrEqual(8 * rounds)
    over.abort()
    await Promise.all(greedy)
  },
)

test('at most a few million characters of all agents are searched at the same time', async () => {
  const clean = createCleanPart({ loop: ownLoop(), clock: systemClock })
  let searched = 0
  let most = 0
  const counted = {
    ...scrub,
    *inSteps(text: string) {
      searched += text.length
      most = Math.max(most, searched)
      try {
        return yield* scrub.inSteps(text)
      } finally {
        searched -= text.length
      }
    },
  }
  const sizes = [
    ...Array<number>(10).fill(100_000),
    ...Array<number>(3).fill(400_000),
    ...Array<number>(2).fill(600_000),
  ]
  await Promise.all(
    sizes.map((size, index) => clean({ agentId: `a${index}`, scrub: counted, signal }, part(size))),
  )
  const bound = searchPlaces.reduce(
    (sum, { partMaxChars, partsMax }) =>
      sum + partsMax * (partMaxChars === Infinity ? exchangeBounds.partMaxBytes : partMaxChars),
    0,
  )
  expect(bound).toBeLessThan(7 * 1024 * 1024)
  expect(most).toBeGreaterThan(8 * 100_000 + 2 * 400_000)
  expect(most).toBeLessThanOrEqual(8 * 100_100 + 2 * 400_100 + 600_100)
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
