import { describe, expect, test } from 'vitest'
import { createFakeLeaseRecords } from './fake-lease-records.ts'
import type { FakeLeaseRecords } from './fake-lease-records.ts'
import { holdLease } from './hold-lease.ts'
import { askAgainMs, endsAfterMs, leaseMs, renewEveryMs } from './lease-times.ts'
import { takeLease } from './take-lease.ts'

/** A machine whose time a test moves: who sleeps wakes up in order. */
function aMachine() {
  let nowMs = 1_000
  const sleepers: { readonly atMs: number; readonly wake: () => void }[] = []
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  return {
    steadyMs: () => nowMs,
    /** Time passes and nothing of this machine runs meanwhile. */
    halt: (ms: number) => {
      nowMs += ms
    },
    clock: {
      sleep: (ms: number, signal?: AbortSignal) =>
        new Promise<void>((resolve, reject) => {
          if (signal?.aborted) return reject(signal.reason)
          signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
          sleepers.push({ atMs: nowMs + ms, wake: resolve })
        }),
    },
    async pass(ms: number) {
      const untilMs = nowMs + ms
      for (;;) {
        await turn()
        sleepers.sort((one, other) => one.atMs - other.atMs)
        if ((sleepers[0]?.atMs ?? Infinity) > untilMs) break
        const next = sleepers.shift()
        nowMs = Math.max(nowMs, next?.atMs ?? 0)
        next?.wake()
      }
      nowMs = untilMs
      await turn()
    },
  }
}

type Machine = ReturnType<typeof aMachine>

interface Who {
  readonly holder: string
  readonly epochSeen: number
}

const never = new AbortController().signal

const taking = (records: FakeLeaseRecords, machine: Machine, who: string | Who) => {
  const { holder, epochSeen } = typeof who === 'string' ? { holder: who, epochSeen: 0 } : who
  const told: string[] = []
  const taken = takeLease({
    records,
    holder,
    epochSeen,
    clock: machine.clock,
    steadyMs: machine.steadyMs,
    progress: (step) => told.push(step),
    signal: never,
  })
  // A test that checks it later checks its end.
  taken.catch(() => undefined)
  return { taken, told }
}

async function holding(records: FakeLeaseRecords, machine: Machine, holder: string) {
  const { taken } = taking(records, machine, holder)
  const lost: string[] = []
  const untils: number[] = []
  const lease = holdLease(
    {
      records,
      holder,
      clock: machine.clock,
      steadyMs: machine.steadyMs,
      onUntil: (untilMs) => untils.push(untilMs),
      onLost: (why) => lost.push(why),
    },
    await taken,
  )
  return { lease, lost, untils }
}

describe('who takes a lease', () => {
  test('has a free one at once, in the epoch after the last', async () => {
    const records = createFakeLeaseRecords()
    records.overwrite({ holder: null, epoch: 6 })
    const { record } = await taking(records, aMachine(), 'one').taken
    expect(record).toMatchObject({ holder: 'one', epoch: 7 })
  })

  test('begins above what the ledger has seen, where the record was deleted', async () => {
    const { record } = await taking(createFakeLeaseRecords(), aMachine(), { holder: 'one', epochSeen: 41 })
      .taken
    expect(record.epoch).toBe(42)
  })

  test('takes that of an earlier life at the same place at once', async () => {
    const records = createFakeLeaseRecords()
    records.overwrite({ holder: 'one', epoch: 6 })
    const { record } = await taking(records, aMachine(), 'one').taken
    expect(record).toMatchObject({ holder: 'one', epoch: 7 })
  })

  test('waits the whole time that a silent holder may still work', async () => {
    const records = createFakeLeaseRecords()
    const machine = aMachine()
    records.overwrite({ holder: 'other', epoch: 6 })
    const { taken, told } = taking(records, machine, 'one')
    await machine.pass(leaseMs - 1_000)
    expect(records.current()).toMatchObject({ holder: 'other', epoch: 6 })
    expect(told.join()).toContain('other')
    await machine.pass(3_000)
    expect((await taken).record).toMatchObject({ holder: 'one', epoch: 7 })
  })

  test('is refused as soon as the holder says a word', async () => {
    const records = createFakeLeaseRecords()
    const machine = aMachine()
    records.overwrite({ holder: 'other', epoch: 6 })
    const { taken } = taking(records, machine, 'one')
    await machine.pass(leaseMs / 2)
    records.overwrite({ holder: 'other', epoch: 6 })
    await machine.pass(5_000)
    await expect(taken).rejects.toMatchObject({ code: 'home-in-use' })
  })

  test('of two that waited for the same one, one has it', async () => {
    const records = createFakeLeaseRecords()
    const machine = aMachine()
    records.overwrite({ holder: 'dead', epoch: 1 })
    const [one, two] = [taking(records, machine, 'one'), taking(records, machine, 'two')]
    await machine.pass(leaseMs + 5_000)
    const winner = records.current()?.holder
    await machine.pass(5_000)
    // The second sees whom it lost to, and hears that one's next word.
    records.overwrite({ holder: winner ?? '', epoch: 2 })
    await machine.pass(5_000)
    const ends = await Promise.allSettled([one.taken, two.taken])
    expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  })
})

describe('who holds a lease', () => {
  test('renews it for as long as it lives, and so keeps others away', async () => {
    const records = createFakeLeaseRecords()
    const machine = aMachine()
    const { lease, lost } = await holding(records, machine, 'one')
    await machine.pass(leaseMs * 5)
    expect(lost).toEqual([])
    expect(lease.mayWrite()).toBe(true)
    expect(records.current()).toMatchObject({ holder: 'one', epoch: 1 })
    expect(Number(records.current()?.version)).toBe(1 + (leaseMs * 5) / renewEveryMs)
  })

  test('H1 has its time from before it asked', async () => {
    const machine = aMachine()
    const startMs = machine.steadyMs()
    const { untils } = await holding(createFakeLeaseRecords(), machine, 'one')
    await machine.pass(renewEveryMs)
    expect(untils).toEqual([startMs + endsAfterMs, startMs + renewEveryMs + endsAfterMs])
  })

  test('ends before another can have it, where the place of leases is silent', async () => {
    const records = createFakeLeaseRecords()
    const machine = aMachine()
    const { lease, lost } = await holding(records, machine, 'one')
    records.answers(false)
    await machine.pass(endsAfterMs - askAgainMs)
    expect([lost, lease.mayWrite()]).toEqual([[], true])
    await machine.pass(askAgainMs * 2)
    expect(lost).toHaveLength(1)
    expect(lease.mayWrite()).toBe(false)
    expect(endsAfterMs + askAgainMs * 2).toBeLessThan(leaseMs)
    records.answers(true)
    await machine.pass(leaseMs)
    expect(lease.mayWrite()).toBe(false)
    expect(records.current()?.version).toBe('1')
  })

  test('goes on after a silence that was short enough', async () => {
    const records = createFakeLeaseRecords()
    const machine = aMachine()
    const { lease, lost } = await holding(records, machine, 'one')
    records.answers(false)
    await machine.pass(endsAfterMs / 2)
    records.answers(true)
    await machine.pass(leaseMs * 2)
    expect([lost, lease.mayWrite()]).toEqual([[], true])
  })

  test('may not write from the very moment on, although it was halted and hears of nothing', async () => {
    const records = createFakeLeaseRecords()
    const machine = aMachine()
    const { lease, lost } = await holding(records, machine, 'one')
    machine.halt(endsAfterMs)
    expect(lease.mayWrite()).toBe(false)
    const other = aMachine()
    const { taken } = taking(records, other, 'two')
    await other.pass(leaseMs + 5_000)
    expect((await taken).record).toMatchObject({ holder: 'two', epoch: 2 })
    await machine.pass(renewEveryMs)
    expect(lost).toHaveLength(1)
    expect(records.current()).toMatchObject({ holder: 'two', epoch: 2 })
  })

  test('H2 goes on where a renewal was carried out and its answer lost', async () => {
    const records = createFakeLeaseRecords()
    const machine = aMachine()
    const { lease, lost } = await holding(records, machine, 'one')
    records.loseNextAnswer()
    await machine.pass(leaseMs * 2)
    expect([lost, lease.mayWrite()]).toEqual([[], true])
  })

  test.each([
    ['another has it', { holder: 'two', epoch: 2 }],
    ['the same place has it for a later life', { holder: 'one', epoch: 2 }],
    ['somebody gave it back for it', { holder: null, epoch: 1 }],
    ['somebody deleted it', null],
  ])('H2 H3 loses it for good where %s', async (_what, record) => {
    const records = createFakeLeaseRecords()
    const machine = aMachine()
    const { lease, lost } = await holding(records, machine, 'one')
    records.overwrite(record)
    await machine.pass(renewEveryMs + askAgainMs)
    expect(lost).toHaveLength(1)
    expect(lease.mayWrite()).toBe(false)
    await machine.pass(leaseMs)
    expect(lost).toHaveLength(1)
    await lease.release()
    expect(records.current()?.holder ?? null).toBe(record?.holder ?? null)
  })

  test('gives it back, and the next need not wait', async () => {
    const records = createFakeLeaseRecords()
    const machine = aMachine()
    const { lease, lost } = await holding(records, machine, 'one')
    await machine.pass(renewEveryMs * 3)
    await lease.release()
    await lease.release()
    expect(lease.mayWrite()).toBe(false)
    expect(records.current()).toMatchObject({ holder: null, epoch: 1 })
    const { record } = await taking(records, machine, 'two').taken
    expect(record).toMatchObject({ holder: 'two', epoch: 2 })
    await machine.pass(leaseMs)
    expect(lost).toEqual([])
  })
})
