import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createFakeLeaseRecords } from './fake-lease-records.ts'
import type { FakeLeaseRecords } from './fake-lease-records.ts'
import { holdLease } from './hold-lease.ts'
import { askAgainMs, askMaxMs, endsAfterMs, leaseMs, pollEveryMs, renewEveryMs } from './lease-times.ts'
import type { LeaseRecords } from './lease-records.ts'
import { boundedBy, requireFreeLease, takeLease } from './take-lease.ts'

/** A machine whose clock the test advances; sleepers wake up in order. */
function aMachine() {
  let nowMs = 1_000
  const sleepers: { readonly atMs: number; readonly wake: () => void }[] = []
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  return {
    steadyMs: () => nowMs,
    /** Lets time pass while nothing of this machine runs. */
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
  readonly signal?: AbortSignal
}

const never = new AbortController().signal

const taking = (records: LeaseRecords, machine: Machine, who: string | Who) => {
  const { holder, epochSeen, signal = never } = typeof who === 'string' ? { holder: who, epochSeen: 0 } : who
  const told: string[] = []
  const taken = takeLease({
    records,
    holder,
    epochSeen,
    clock: machine.clock,
    steadyMs: machine.steadyMs,
    progress: (step) => told.push(step),
    signal,
  })
  // Prevents an unhandled rejection; tests that need the end await it later.
  taken.catch(() => undefined)
  return { taken, told }
}

async function holding(records: LeaseRecords, machine: Machine, holder: string) {
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

/** The same records, with a hook that sees each request or acts before its reply. */
const withQuestions = (
  records: FakeLeaseRecords,
  on: {
    readonly read?: (signal: AbortSignal) => void
    readonly write?: (signal: AbortSignal) => void
    readonly refuse?: boolean
  },
): LeaseRecords => ({
  read: (signal) => {
    on.read?.(signal)
    return records.read(signal)
  },
  write: async (record, over, signal) => {
    on.write?.(signal)
    return on.refuse === true ? null : records.write(record, over, signal)
  },
})

describe('a caller that deletes the leased home', () => {
  const requiring = (records: LeaseRecords, machine: Machine) => {
    const told: string[] = []
    const asked = { records, holder: 'one', clock: machine.clock, steadyMs: machine.steadyMs, signal: never }
    const free = requireFreeLease({ ...asked, progress: (step) => told.push(step) })
    free.catch(() => undefined)
    return { free, told }
  }

  test.each([null, { holder: null, epoch: 3 }, { holder: 'one', epoch: 3 }])(
    'a caller that deletes the leased home continues at once if no other process has it: %j',
    async (record) => {
      const records = createFakeLeaseRecords()
      records.overwrite(record)
      const before = records.current()
      const { free, told } = requiring(records, aMachine())
      await free
      expect(told).toEqual([])
      expect(records.current()).toEqual(before)
    },
  )

  test('a caller that deletes the leased home is refused while another renews it', async () => {
    const records = createFakeLeaseRecords()
    const machine = aMachine()
    await holding(records, machine, 'another')
    const { free, told } = requiring(records, machine)
    await machine.pass(renewEveryMs + pollEveryMs)
    await expect(free).rejects.toMatchObject({
      code: 'home-in-use',
      detail: expect.stringContaining('another has the lease'),
    })
    expect(told).toHaveLength(1)
  })

  test('a caller that deletes the leased home waits for the end of one that was killed, and leaves its record', async () => {
    const records = createFakeLeaseRecords()
    records.overwrite({ holder: 'killed', epoch: 3 })
    const machine = aMachine()
    const ends: string[] = []
    const { free } = requiring(records, machine)
    void free.then(() => ends.push('free'))
    await machine.pass(leaseMs - pollEveryMs)
    expect(ends).toEqual([])
    await machine.pass(2 * pollEveryMs)
    expect(ends).toEqual(['free'])
    expect(records.current()).toMatchObject({ holder: 'killed', epoch: 3 })
  })
})

describe('who takes a lease', () => {
  test('a process that takes a lease has a free one at once, in the epoch after the last', async () => {
    const records = createFakeLeaseRecords()
    records.overwrite({ holder: null, epoch: 6 })
    const { record } = await taking(records, aMachine(), 'one').taken
    expect(record).toMatchObject({ holder: 'one', epoch: 7 })
  })

  test('a process that takes a lease begins above the epoch of the ledger if the record was deleted', async () => {
    const { record } = await taking(createFakeLeaseRecords(), aMachine(), { holder: 'one', epochSeen: 41 })
      .taken
    expect(record.epoch).toBe(42)
  })

  test('a process that takes a lease takes the lease of an earlier process at the same place at once', async () => {
    const records = createFakeLeaseRecords()
    records.overwrite({ holder: 'one', epoch: 6 })
    const { record } = await taking(records, aMachine(), 'one').taken
    expect(record).toMatchObject({ holder: 'one', epoch: 7 })
  })

  test('a process that takes a lease waits the whole time that a silent holder may still work', async () => {
    const records = createFakeLeaseRecords()
    const machine = aMachine()
    records.overwrite({ holder: 'other', epoch: 6 })
    const { taken, told } = taking(records, machine, 'one')
    await machine.pass(leaseMs - 1_000)
    expect(records.current()).toMatchObject({ holder: 'other', epoch: 6 })
    expect(told.join()).toContain('other expires (60 s after its last renewal)')
    await machine.pass(3_000)
    expect((await taken).record).toMatchObject({ holder: 'one', epoch: 7 })
  })

  test('a process that takes a lease is refused as soon as the holder says a word', async () => {
    const records = createFakeLeaseRecords()
    const machine = aMachine()
    records.overwrite({ holder: 'other', epoch: 6 })
    const { taken } = taking(records, machine, 'one')
    await machine.pass(leaseMs / 2)
    records.overwrite({ holder: 'other', epoch: 6 })
    await machine.pass(5_000)
    await expect(taken).rejects.toMatchObject({ code: 'home-in-use' })
  })

  test('a process that takes a lease gets it exactly when the time of a silent holder is over', async () => {
    const records = createFakeLeaseRecords()
    const machine = aMachine()
    records.overwrite({ holder: 'other', epoch: 6 })
    const { taken } = taking(records, machine, 'one')
    await machine.pass(leaseMs)
    expect(records.current()).toMatchObject({ holder: 'one', epoch: 7 })
    await taken
  })

  test.each([
    ['gives it back', { holder: null, epoch: 8 }, 9],
    ['is of the same place and says a word', { holder: 'one', epoch: 8 }, 9],
    ['is gone with its record', null, 1],
  ])('a process has a lease at once where the one it waits for %s', async (_what, record, epoch) => {
    const records = createFakeLeaseRecords()
    const machine = aMachine()
    records.overwrite({ holder: 'other', epoch: 6 })
    const { taken } = taking(records, machine, 'one')
    await machine.pass(pollEveryMs * 2)
    records.overwrite(record)
    await machine.pass(pollEveryMs)
    expect(records.current()).toMatchObject({ holder: 'one', epoch })
    await taken
  })

  test('a process that takes a lease restarts the wait for a new holder', async () => {
    const records = createFakeLeaseRecords()
    const machine = aMachine()
    records.overwrite({ holder: 'dead', epoch: 1 })
    let others = 1
    const slow = withQuestions(records, {
      write: () => {
        if (others-- > 0) records.overwrite({ holder: 'other', epoch: 2 })
      },
    })
    const { taken } = taking(slow, machine, 'one')
    await machine.pass(leaseMs)
    expect(records.current()).toMatchObject({ holder: 'other' })
    await machine.pass(leaseMs - pollEveryMs)
    expect(records.current()).toMatchObject({ holder: 'other' })
    await machine.pass(pollEveryMs)
    expect(records.current()).toMatchObject({ holder: 'one', epoch: 3 })
    await taken
  })

  test('a process that takes a lease gives up where several are always quicker', async () => {
    let written = 0
    const crowd = withQuestions(createFakeLeaseRecords(), { write: () => written++, refuse: true })
    const { taken } = taking(crowd, aMachine(), 'one')
    await expect(taken).rejects.toMatchObject({
      code: 'home-in-use',
      message: expect.stringContaining('several machines'),
    })
    expect(written).toBe(5)
  })

  test('a process that takes a lease names the process that was faster', async () => {
    const records = createFakeLeaseRecords()
    records.overwrite({ holder: 'one', epoch: 1 })
    const { taken } = taking(withQuestions(records, { refuse: true }), aMachine(), 'one')
    await expect(taken).rejects.toThrow(/one has the lease/)
  })

  test('a process that takes a lease has its time from before it asked, however late the answer comes', async () => {
    const machine = aMachine()
    const late = withQuestions(createFakeLeaseRecords(), { write: () => machine.halt(3_000) })
    const requestedAtMs = machine.steadyMs()
    expect(await taking(late, machine, 'one').taken).toMatchObject({ requestedAtMs })
  })

  test('a process that takes a lease waits no longer than it is to', async () => {
    const records = createFakeLeaseRecords()
    const machine = aMachine()
    records.overwrite({ holder: 'other', epoch: 6 })
    const over = new AbortController()
    const { taken } = taking(records, machine, {
      holder: 'one',
      epochSeen: 0,
      signal: over.signal,
    })
    await machine.pass(pollEveryMs * 2)
    over.abort(new Error('the start is called off'))
    await expect(taken).rejects.toThrow('the start is called off')
    await machine.pass(leaseMs * 2)
    expect(records.current()).toMatchObject({ holder: 'other', epoch: 6 })
  })

  test('a process that takes a lease asks each question for so long at most, and not beyond its end', () => {
    const late = new AbortController()
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(late.signal)
    onTestFinished(() => timeout.mockRestore())
    const [first, second] = [new AbortController(), new AbortController()]
    const [bounded, other] = [boundedBy(first.signal), boundedBy(second.signal)]
    expect(timeout).toHaveBeenCalledWith(askMaxMs)
    second.abort()
    expect([bounded.aborted, other.aborted]).toEqual([false, true])
    late.abort()
    expect(bounded.aborted).toBe(true)
  })

  test('a process that takes a lease names the process that replaced the one it waited for', async () => {
    const records = createFakeLeaseRecords()
    const machine = aMachine()
    records.overwrite({ holder: 'other', epoch: 6 })
    const { taken } = taking(records, machine, 'one')
    await machine.pass(pollEveryMs)
    records.overwrite({ holder: 'third', epoch: 7 })
    await machine.pass(pollEveryMs)
    await expect(taken).rejects.toThrow(/third has the lease/)
  })

  test('exactly one of two waiting processes acquires the lease', async () => {
    const records = createFakeLeaseRecords()
    const machine = aMachine()
    records.overwrite({ holder: 'dead', epoch: 1 })
    const [one, two] = [taking(records, machine, 'one'), taking(records, machine, 'two')]
    await machine.pass(leaseMs + 5_000)
    const winner = records.current()?.holder
    await machine.pass(5_000)
    // The second sees the winner and its next renewal.
    records.overwrite({ holder: winner ?? '', epoch: 2 })
    await machine.pass(5_000)
    const ends = await Promise.allSettled([one.taken, two.taken])
    expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  })
})

describe('who holds a lease', () => {
  test('a process that holds a lease renews it as long as the process runs, which excludes others', async () => {
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

  test('a process that holds a lease ends before another can have it, where the place of leases is silent', async () => {
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
    // A lost lease is not released either.
    await lease.release()
    expect(records.current()).toMatchObject({ holder: 'one', version: '1' })
  })

  test('a process that holds a lease asks again soon where it was not answered, and in its own time once it was', async () => {
    const records = createFakeLeaseRecords()
    const machine = aMachine()
    let asked = 0
    const counted = withQuestions(records, { write: () => asked++ })
    await holding(counted, machine, 'one')
    records.answers(false)
    asked = 0
    await machine.pass(renewEveryMs + askAgainMs * 3)
    expect(asked).toBe(4)
    records.answers(true)
    await machine.pass(askAgainMs + renewEveryMs)
    expect(asked).toBe(6)
  })

  test('a process that holds a lease sends no more requests once its time is over', async () => {
    const records = createFakeLeaseRecords()
    const machine = aMachine()
    let asked = 0
    const { lost } = await holding(withQuestions(records, { write: () => asked++ }), machine, 'one')
    asked = 0
    machine.halt(endsAfterMs)
    await machine.pass(0)
    expect([asked, lost]).toEqual([0, ['the lease of this mesh could not be renewed for 45 s']])
  })

  test.each([
    ['who has it', { holder: 'two', epoch: 2 }, 'two has the lease now'],
    ['that it is free', { holder: null, epoch: 2 }, 'no process has the lease now'],
    ['that it was deleted', null, 'the lease of this mesh was deleted'],
  ])('%s is notified of the lost lease', async (_what, record, words) => {
    const records = createFakeLeaseRecords()
    const machine = aMachine()
    const { lost } = await holding(records, machine, 'one')
    records.overwrite(record)
    await machine.pass(renewEveryMs)
    expect(lost).toEqual([words])
  })

  test('a process that holds a lease asks nothing more once it is lost', async () => {
    const records = createFakeLeaseRecords()
    const machine = aMachine()
    let asked = 0
    await holding(withQuestions(records, { write: () => asked++ }), machine, 'one')
    records.overwrite({ holder: 'two', epoch: 2 })
    await machine.pass(renewEveryMs)
    asked = 0
    await machine.pass(leaseMs)
    expect(asked).toBe(0)
  })

  test('a process that holds a lease does not ask again at once where a renewal was refused and it is still its own', async () => {
    const records = createFakeLeaseRecords()
    const machine = aMachine()
    const untils: number[] = []
    const { lease, untils: told } = await holding(records, machine, 'one')
    untils.push(...told)
    // Simulates a lost answer: the record has a new version with the same content.
    records.overwrite({ holder: 'one', epoch: 1 })
    await machine.pass(renewEveryMs)
    expect(told).toEqual(untils)
    await machine.pass(askAgainMs)
    expect(told).toHaveLength(2)
    expect(lease.mayWrite()).toBe(true)
  })

  test('a process that holds a lease goes on after a silence that was short enough', async () => {
    const records = createFakeLeaseRecords()
    const machine = aMachine()
    const { lease, lost } = await holding(records, machine, 'one')
    records.answers(false)
    await machine.pass(endsAfterMs / 2)
    records.answers(true)
    await machine.pass(leaseMs * 2)
    expect([lost, lease.mayWrite()]).toEqual([[], true])
  })

  test('a process that holds a lease may not write once its time is over, even if it was halted meanwhile', async () => {
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
    ['another client released it', { holder: null, epoch: 1 }],
    ['another client deleted it', null],
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

  test('a process that holds a lease gives it back, and the next need not wait', async () => {
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

  test('a process that holds a lease is given back by one question, however often that is asked for', async () => {
    const records = createFakeLeaseRecords()
    const asked: string[] = []
    const counted = withQuestions(records, {
      read: () => asked.push('read'),
      write: () => asked.push('write'),
    })
    const { lease } = await holding(counted, aMachine(), 'one')
    asked.length = 0
    await lease.release()
    await lease.release()
    expect(asked).toEqual(['write'])
  })

  test('a process that holds a lease cannot be lost during its release', async () => {
    const records = createFakeLeaseRecords()
    const machine = aMachine()
    const late = Promise.withResolvers<null>()
    let written = 0
    const { lease, lost } = await holding(
      {
        // A late reply after the abort: the record belongs to another process by then.
        read: async (signal) =>
          written < 2 ? records.read(signal) : { holder: 'two', epoch: 2, version: '9' },
        write: (record, over, signal) =>
          ++written === 2 ? late.promise : records.write(record, over, signal),
      },
      machine,
      'one',
    )
    await machine.pass(renewEveryMs)
    const released = lease.release()
    late.resolve(null)
    await released
    expect(lost).toEqual([])
  })

  test('a process that holds a lease gives it back where its last question was carried out and not answered', async () => {
    const records = createFakeLeaseRecords()
    const machine = aMachine()
    const { lease } = await holding(records, machine, 'one')
    records.overwrite({ holder: 'one', epoch: 1 })
    await lease.release()
    expect(records.current()).toMatchObject({ holder: null, epoch: 1 })
  })

  test.each([
    ['another', { holder: 'two', epoch: 2 }],
    ['a later life at the same place', { holder: 'one', epoch: 2 }],
    ['another of the same time', { holder: 'two', epoch: 1 }],
  ])('a process that holds a lease gives nothing back that %s has', async (_what, record) => {
    const records = createFakeLeaseRecords()
    const { lease, lost } = await holding(records, aMachine(), 'one')
    records.overwrite(record)
    await lease.release()
    expect(records.current()).toMatchObject(record)
    expect(lost).toEqual([])
  })

  test('a process that holds a lease does not wait for an unresponsive place during the release', async () => {
    const records = createFakeLeaseRecords()
    const { lease, lost } = await holding(records, aMachine(), 'one')
    records.answers(false)
    await lease.release()
    expect([lost, lease.mayWrite()]).toEqual([[], false])
  })

  test('a process that holds a lease breaks a renewal off that is under way where it is given back', async () => {
    const records = createFakeLeaseRecords()
    const machine = aMachine()
    const signals: AbortSignal[] = []
    const { lease, lost } = await holding(
      {
        read: records.read,
        write: async (record, over, signal) => {
          signals.push(signal)
          // The first renewal hangs until it is aborted.
          if (signals.length === 2)
            await new Promise((_resolve, reject) =>
              signal.addEventListener('abort', () => reject(signal.reason)),
            )
          return records.write(record, over, signal)
        },
      },
      machine,
      'one',
    )
    await machine.pass(renewEveryMs)
    expect(signals).toHaveLength(2)
    await lease.release()
    expect(records.current()).toMatchObject({ holder: null, epoch: 1 })
    expect(lost).toEqual([])
  })
})
