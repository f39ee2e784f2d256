import { wireLimits } from '@flotilla/protocol/limits'
import { describe, expect, test } from 'vitest'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import type { RunTicket } from '../../../identity/src/access/run-ticket.ts'
import { createHoldLease } from './hold-lease.ts'

const run: RunTicket = {
  runId: 'run_1',
  agentId: 'scout',
  fence: 1,
  taskId: null,
  origin: { kind: 'human', channel: 'cli' },
  budgetUsd: null,
  budgetTokens: null,
}

describe('a held lease', () => {
  test('a held lease is renewed as often as an agent would renew it, until it is released', async () => {
    const clock = createManualClock()
    const renewed: string[] = []
    const release = createHoldLease({ clock, log: silentLog, renew: (ticket) => renewed.push(ticket.runId) })(
      run,
    )
    for (let tick = 0; tick < 4; tick++) await clock.advance(wireLimits.leaseRenewalMs)
    expect(renewed).toHaveLength(4)
    release()
    await clock.advance(wireLimits.leaseRenewalMs)
    expect(renewed).toHaveLength(4)
    expect(clock.sleepers()).toBe(0)
  })

  test('a held lease stops being renewed when its run has ended', async () => {
    const clock = createManualClock()
    let attempts = 0
    const hold = createHoldLease({
      clock,
      log: silentLog,
      renew: () => {
        attempts++
        throw new Error('stale fence')
      },
    })
    hold(run)
    for (let tick = 0; tick < 3; tick++) await clock.advance(wireLimits.leaseRenewalMs)
    expect(attempts).toBe(1)
  })

  test('a held lease is renewed again after the disk was full during one renewal', async () => {
    const clock = createManualClock()
    let attempts = 0
    const hold = createHoldLease({
      clock,
      log: silentLog,
      renew: () => {
        attempts++
        if (attempts === 1) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' })
      },
    })
    hold(run)
    for (let tick = 0; tick < 3; tick++) await clock.advance(wireLimits.leaseRenewalMs)
    expect(attempts).toBe(3)
  })

  test('holding a lease without a run does nothing', () => {
    const clock = createManualClock()
    createHoldLease({ clock, log: silentLog, renew: () => {} })(null)()
    expect(clock.sleepers()).toBe(0)
  })
})
