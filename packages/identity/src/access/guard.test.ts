import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, test } from 'vitest'
import { collectEvents, collectJournal } from '../../../../tests/support/collected-ports.ts'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { verifies } from '../../../../tests/verifies.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import type { Caller } from './caller.ts'
import { workerDefaultRecord } from './default-records.ts'
import { createDenialCounts } from './denial-counts.ts'
import { createGuard } from './guard.ts'
import type { PermissionSnapshot } from './permission-file.ts'

const scout: Caller = { kind: 'agent', agentId: 'scout', token: 'door', run: null }
const snapshot: PermissionSnapshot = {
  broken: null,
  brokenLine: null,
  recordOf: (agentId) => (agentId === 'scout' ? workerDefaultRecord : undefined),
  lineOf: (_agentId, field) => (field === undefined ? 3 : null),
}

function aGuard() {
  const clock = createManualClock()
  const journal = collectJournal()
  const events = collectEvents()
  const denials = createDenialCounts(clock)
  const guard = createGuard({
    permissions: { snapshot: () => snapshot },
    denials,
    journal,
    events,
    clock,
    log: silentLog,
  })
  return { guard, clock, journal, events, denials }
}

describe('the guard', () => {
  test('the guard passes an allowed action and records nothing', () => {
    const { guard, journal, denials } = aGuard()
    guard(scout, { do: 'read-blackboard', key: 'a' })
    expect(journal.entries).toEqual([])
    expect(denials.last24Hours('scout')).toEqual({})
  })

  test('the guard throws denied with field and line, journals and announces it', () => {
    verifies('purpose:mesh:enforces-permissions')
    const { guard, journal, events } = aGuard()
    expect(() => guard(scout, { do: 'message-agent', to: 'other' })).toThrow(
      expect.objectContaining({
        code: 'denied',
        extra: { action: 'message-agent', field: 'can_message', line: 3 },
      }),
    )
    expect(journal.entries).toMatchObject([
      { actor: 'agent:scout', action: 'permission.denied', subject: 'other' },
    ])
    expect(events.bodies).toMatchObject([{ type: 'call.denied', agent_id: 'scout', action: 'message-agent' }])
  })

  test('the guard names no field to change for an action that no field allows', () => {
    const { guard } = aGuard()
    const repairOf = (caller: Caller, action: Parameters<typeof guard>[1]): string => {
      try {
        guard(caller, action)
        return 'let through'
      } catch (error) {
        return error instanceof Problem ? error.repair : String(error)
      }
    }
    const nobody: Caller = { ...scout, agentId: 'nobody' }
    const steer = { do: 'steer-agent', to: 'scout', gave: false } as const
    expect(repairOf(scout, steer)).toContain('No permission can allow this action')
    expect(repairOf(scout, { do: 'message-agent', to: 'other' })).toContain('Ask the owner to allow it')
    const member: Caller = { kind: 'human', role: 'member', channel: 'cli', person: 'ann', agents: ['scout'] }
    expect(repairOf(member, { do: 'manage-fleet' })).toContain('flotilla people change')
    const made: Caller = { ...scout, agentId: 'spawn_1' }
    expect(repairOf(made, { do: 'message-agent', to: 'other' })).toContain('You were created for one task')
    // A missing record is repaired by the owner.
    expect(repairOf(nobody, { do: 'message-agent', to: 'other' })).toContain('Ask the owner to allow it')
  })

  test('the guard does not count denials of a deleted agent for one re-created under its id', () => {
    const { guard, denials } = aGuard()
    expect(() => guard(scout, { do: 'message-agent', to: 'a' })).toThrow('can_message')
    denials.forget('scout')
    expect(denials.last24Hours('scout')).toEqual({})
  })

  test('the guard counts every denial of the last day by kind', async () => {
    verifies('purpose:observability:tool-denials-24h')
    const { guard, clock, denials } = aGuard()
    const tryTo = (to: string) =>
      expect(() => guard(scout, { do: 'message-agent', to })).toThrow('can_message')
    tryTo('a')
    await clock.advance(20 * 3600 * 1000)
    tryTo('b')
    expect(() => guard(scout, { do: 'manage-fleet' })).toThrow('can_manage_fleet')
    expect(denials.last24Hours('scout')).toEqual({ 'message-agent': 2, 'manage-fleet': 1 })
    await clock.advance(5 * 3600 * 1000)
    expect(denials.last24Hours('scout')).toEqual({ 'message-agent': 1, 'manage-fleet': 1 })
    await clock.advance(24 * 3600 * 1000)
    expect(denials.last24Hours('scout')).toEqual({})
  })

  test('the guard writes denials down again after the clock was set back', async () => {
    const { guard, clock, journal } = aGuard()
    const deny = () => expect(() => guard(scout, { do: 'message-agent', to: 'other' })).toThrow(Problem)
    for (let call = 0; call < 30; call++) deny()
    await clock.leap(-3_600_000)
    deny()
    expect(journal.entries.at(-1)).toMatchObject({ detail: { skipped: 10 } })
  })

  test('the guard limits the audit log entries of a looping agent and records how many were omitted', async () => {
    const { guard, clock, journal, events, denials } = aGuard()
    for (let call = 0; call < 1000; call++)
      expect(() => guard(scout, { do: 'manage-fleet' })).toThrow('can_manage_fleet')
    expect(journal.entries).toHaveLength(20)
    expect(events.bodies).toHaveLength(20)
    expect(denials.last24Hours('scout')).toEqual({ 'manage-fleet': 1000 })
    await clock.advance(60_000)
    expect(() => guard(scout, { do: 'manage-fleet' })).toThrow('can_manage_fleet')
    expect(journal.entries.at(-1)?.detail).toMatchObject({ skipped: 980 })
  })
})
