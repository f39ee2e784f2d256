import { describe, expect, test } from 'vitest'
import { createManualClock } from '../../../../protocol/src/testing/manual-clock.ts'
import { createLease } from './lease.ts'
import type { RunPulses } from './run-pulses.ts'
import type { RunRecord } from '../ledger/run-record.ts'
import type { RunTable } from '../ledger/run-table.ts'
import { runLimits } from '../run-limits.ts'

const { leaseMs } = runLimits

/** A run of agent `scout` in a table of one row, with a record of what the lease does to it. */
function aLease(row: Partial<RunRecord> = {}, silent: ReturnType<RunPulses['check']> = []) {
  const clock = createManualClock()
  const run: { -readonly [Key in keyof RunRecord]?: RunRecord[Key] } = {
    id: 'run_1',
    agentId: 'scout',
    state: 'running',
    fence: 3,
    leaseUntil: clock.now() + leaseMs,
    ...row,
  }
  const written: number[] = []
  const [stopFollowing, rung, heartbeats]: [string[], string[], unknown[]] = [[], [], []]
  const table: Pick<RunTable, 'find' | 'renewLease' | 'leaseDead' | 'runningFenceOf'> = {
    find: (id) => (id === 'run_1' ? (run as RunRecord) : null),
    renewLease: (_id, fence, until) => {
      if (fence !== run.fence) return false
      written.push(until)
      run.leaseUntil = until
      return true
    },
    leaseDead: (now) => ((run.leaseUntil ?? now + 1) <= now ? [run as RunRecord] : []),
    runningFenceOf: () => run.fence ?? null,
  }
  const lease = createLease({
    table: table as RunTable,
    followed: {
      during: () => Promise.reject(new Error('not here')),
      stopFollowing: (id) => void stopFollowing.push(id),
    },
    pulses: {
      heartbeat: (pulse) => void heartbeats.push(pulse),
      begin: () => {},
      silentMs: () => 0,
      check: (fenceOf) => (fenceOf('run_1') === 3 ? silent : []),
    },
    notifier: { publish: (agentId) => void rung.push(agentId) },
    clock,
  })
  return { lease, clock, written, stopFollowing, rung, heartbeats, ticket: { runId: 'run_1', fence: 3 } }
}

describe('a lease', () => {
  test('a lease is renewed for a minute, and not written again while nearly all of it is left', async () => {
    const { lease, clock, written, ticket } = aLease()
    const first = clock.now() + leaseMs
    await clock.advance(4999)
    expect(lease.renew(ticket)).toBe(first)
    expect(written).toEqual([])
    await clock.advance(1)
    expect(lease.renew(ticket)).toBe(clock.now() + leaseMs)
    expect(written).toEqual([clock.now() + leaseMs])
  })

  test('a lease is given to a run that has none yet', () => {
    const { lease, clock, ticket } = aLease({ leaseUntil: null })
    expect(lease.renew(ticket)).toBe(clock.now() + leaseMs)
  })

  test.each([
    ['another attempt', {}, { runId: 'run_1', fence: 2 }],
    ['a later attempt', {}, { runId: 'run_1', fence: 4 }],
    ['a run that is over', { state: 'done' as const }, { runId: 'run_1', fence: 3 }],
    ['a run that waits', { state: 'waiting' as const }, { runId: 'run_1', fence: 3 }],
    ['a run that is not there', {}, { runId: 'run_2', fence: 3 }],
  ])('a lease is not renewed by %s, whose agent learns that it is cut off', (_who, row, ticket) => {
    const { lease, written, heartbeats } = aLease(row)
    const stale = expect.objectContaining({ code: 'stale-fence' })
    expect(() => lease.renew(ticket)).toThrow(stale)
    expect(() => lease.heartbeat(ticket)).toThrow(stale)
    expect([written, heartbeats]).toEqual([[], []])
  })

  test('a heartbeat of the loop renews the lease, and only it shows that the loop works', () => {
    const { lease, clock, heartbeats, ticket } = aLease()
    lease.renew(ticket)
    expect(heartbeats).toEqual([])
    expect(lease.heartbeat(ticket)).toBe(clock.now() + leaseMs)
    expect(heartbeats).toEqual([{ id: 'run_1', fence: 3 }])
  })
})

describe('the sweep', () => {
  test('the sweep leaves runs with a valid lease alone', async () => {
    const { lease, clock, stopFollowing, rung } = aLease()
    await clock.advance(leaseMs - 1)
    lease.sweep()
    expect([stopFollowing, rung]).toEqual([[], []])
  })

  test('the sweep stops following a run whose lease has expired, and wakes its lane', async () => {
    const { lease, clock, stopFollowing, rung } = aLease()
    await clock.advance(leaseMs)
    lease.sweep()
    expect([stopFollowing, rung]).toEqual([['run_1'], ['scout']])
  })

  test('the sweep ends the lease of a silent loop at once, whatever else renewed it', () => {
    const { lease, clock, written, stopFollowing, rung } = aLease({}, [{ id: 'run_1', fence: 3 }])
    lease.sweep()
    expect(written).toEqual([clock.now()])
    expect([stopFollowing, rung]).toEqual([['run_1'], ['scout']])
  })
})
