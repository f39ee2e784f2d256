import { describe, expect, it } from 'vitest'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { sandboxSizes } from './default-agent-sizes.ts'
import { type SandboxSpec } from './sandbox-spec.ts'
import { createStartShares, machineShareMs, startShareMs } from './start-shares.ts'

const worker: SandboxSpec['cpu'] = sandboxSizes.worker.cpu
const operator: SandboxSpec['cpu'] = sandboxSizes.operator.cpu

function aMachine(processors = 4) {
  const clock = createManualClock(1_000_000, { passesMs: 500 })
  const shares = createStartShares({ processors, clock, log: silentLog })
  const takenBack: string[] = []
  const start = (agentId: string, own = worker) => {
    const share = shares.lend(agentId, own)
    share?.begin(async () => void takenBack.push(agentId))
    return share
  }
  return { clock, shares, takenBack, start }
}

describe('the start share of an agent', () => {
  it('the start share of an agent is one processor over its own period, and half of a machine that has but one', () => {
    expect(aMachine().start('w')?.cpu).toEqual({ quotaUs: 500_000, periodUs: 500_000 })
    expect(aMachine().start('o', operator)?.cpu).toEqual({ quotaUs: 1_000_000, periodUs: 1_000_000 })
    expect(aMachine(1).start('w')?.cpu).toEqual({ quotaUs: 250_000, periodUs: 500_000 })
  })

  it('the start share of an agent is nothing where its own share is as large', () => {
    expect(aMachine().start('w', { quotaUs: 200_000, periodUs: 100_000 })).toBeNull()
  })

  it.each([
    [1, 1],
    [2, 1],
    [4, 3],
  ])(
    'the start share of an agent with %i processors is had by %i at once, so that one is left to everybody else',
    async (processors, most) => {
      const { shares, start } = aMachine(processors)
      const lent = Array.from({ length: 20 }, (_, index) => start(`w-${index}`)).filter(
        (share) => share !== null,
      )
      expect(lent).toHaveLength(most)
      await lent[0]?.end()
      expect(start('next')).not.toBeNull()
      expect(start('after-next')).toBeNull()
      shares.release('next')
      expect(start('after-next')).not.toBeNull()
    },
  )

  it('the start share of an agent is taken back when it answers, once, and there is nothing to take back later', async () => {
    const { clock, takenBack, start } = aMachine()
    const share = start('w')
    await Promise.all([share?.end(), share?.end()])
    await clock.advance(startShareMs)
    await share?.end()
    expect(takenBack).toEqual(['w'])
  })

  it('the start share of an agent is taken back within two seconds from one that does not answer', async () => {
    const { clock, takenBack, start } = aMachine()
    start('w')
    await clock.advance(1_000)
    expect(takenBack).toEqual([])
    await clock.advance(startShareMs - 1_000)
    expect(takenBack).toEqual(['w'])
  })

  it('the start share of an agent is reclaimed with retries, and no other agent gets it meanwhile', async () => {
    const { clock, shares, start } = aMachine(2)
    let isDeaf = true
    let tries = 0
    const share = shares.lend('w', worker)
    share?.begin(async () => {
      tries++
      if (isDeaf) throw new Error('no engine')
    })
    await expect(share?.end()).rejects.toThrow('no engine')
    await clock.advance(startShareMs)
    await expect.poll(() => tries).toBeGreaterThan(4)
    expect(start('x')).toBeNull()
    isDeaf = false
    await expect.poll(() => shares.of('w')).toBeNull()
    expect(start('x')).not.toBeNull()
  })

  it('the start share of an agent is not taken from a process that has not begun, which would begin with it', async () => {
    const { shares } = aMachine()
    const share = shares.lend('w', worker)
    await share?.end()
    expect(shares.of('w')).toBe(share)
  })

  it('the start share of an agent is paid back before there is more: who starts over and over has twice its own share', async () => {
    const { clock, shares, start } = aMachine()
    const hours = 2
    let lentMs = 0
    const began = clock.now()
    while (clock.now() - began < hours * 3_600_000) {
      const share = start('crasher')
      const from = clock.now()
      await clock.advance(1_500)
      if (share !== null) lentMs += clock.now() - from
      shares.release('crasher')
    }
    const own = (worker.quotaUs / worker.periodUs) * (clock.now() - began)
    expect(lentMs).toBeGreaterThan(0)
    expect(lentMs).toBeLessThanOrEqual(own)
  })

  it('the start share of an agent costs one that answers at once a second or so until it is lent the next', async () => {
    const { clock, start } = aMachine()
    const share = start('w')
    await clock.advance(200)
    await share?.end()
    expect(start('w')).toBeNull()
    await clock.advance(1_400)
    expect(start('w')).not.toBeNull()
  })

  it('the start share of an agent is taken back from everybody when the mesh goes', async () => {
    const { shares, takenBack, start } = aMachine()
    for (const id of ['a', 'b']) start(id)
    await shares.close()
    expect(takenBack.toSorted()).toEqual(['a', 'b'])
  })

  it('the start share of an agent is waited for by a machine, which has it longer', async () => {
    const { clock, shares, takenBack, start } = aMachine(2)
    start('w')
    let lent: string | null = null
    const turn = shares.lendInTurn('m', worker).then((share) => {
      share?.begin(async () => void takenBack.push('m'))
      lent = share === null ? 'nothing' : 'a processor'
    })
    await clock.advance(100)
    expect(lent).toBeNull()
    shares.release('w')
    await turn
    expect(lent).toBe('a processor')
    await clock.advance(startShareMs)
    expect(takenBack).toEqual([])
    await clock.advance(machineShareMs - startShareMs)
    expect(takenBack).toEqual(['m'])
  })

  it('the start share of an agent is not paid back by a machine, because its kernel used it', async () => {
    const { clock, shares } = aMachine(2)
    for (let starts = 0; starts < 3; starts++) {
      const share = await shares.lendInTurn('m', worker)
      expect(share).not.toBeNull()
      share?.begin(async () => undefined)
      await clock.advance(10_000)
      await share?.end()
    }
  })
})
