import { describe, expect, test } from 'vitest'
import { collectEvents, collectJournal } from '../../../../tests/support/collected-ports.ts'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import type { Caller } from './caller.ts'
import { workerDefaultRecord } from './default-records.ts'
import { createDenialCounts } from './denial-counts.ts'
import { createHoldCeiling, createRefuseAboveCeiling } from './hold-ceiling.ts'

const operator: Caller = { kind: 'agent', agentId: 'operator', token: 'door', run: null }
const raise = { agentId: 'scout', current: workerDefaultRecord, fields: { can_spawn: true } }
const lower = { agentId: 'scout', current: workerDefaultRecord, fields: { allowed_apis: ['llm'] } }

function aCeiling() {
  const journal = collectJournal()
  const events = collectEvents()
  const denials = createDenialCounts(createManualClock())
  const deps = { journal, events, denials, log: silentLog }
  return {
    journal,
    events,
    denials,
    hold: createHoldCeiling(deps),
    refuse: createRefuseAboveCeiling(deps),
  }
}

describe('the ceiling', () => {
  test('only a person at the terminal may raise a value above the ceiling', () => {
    const { hold, journal } = aCeiling()
    for (const channel of ['cli', 'dashboard']) hold({ kind: 'human', role: 'owner', channel }, raise)
    expect(journal.entries).toEqual([])
  })

  test('the ceiling lets the operator lower, and writes nothing down for it', () => {
    const { hold, journal, events } = aCeiling()
    hold(operator, lower)
    expect([journal.entries, events.bodies]).toEqual([[], []])
  })

  test('the ceiling holds everybody else, also a person in a chat, who may be repeating another’s words', () => {
    const { hold, journal } = aCeiling()
    const others: readonly Caller[] = [
      operator,
      { kind: 'human', role: 'owner', channel: 'telegram' },
      { kind: 'internal' },
      { kind: 'system' },
    ]
    for (const caller of others) {
      expect(() => hold(caller, raise)).toThrow(
        expect.objectContaining({ code: 'human-only', extra: { field: 'can_spawn' } }),
      )
    }
    expect(journal.entries).toHaveLength(others.length)
  })

  test('the ceiling records the attempt of an agent as a denial', () => {
    const { hold, journal, events, denials } = aCeiling()
    expect(() => hold(operator, raise)).toThrow('can_spawn')
    expect(journal.entries).toEqual([
      {
        actor: 'agent:operator',
        action: 'ceiling.refused',
        subject: 'scout',
        detail: { field: 'can_spawn', reason: expect.stringContaining('only a person') },
      },
    ])
    expect(denials.last24Hours('operator')).toEqual({ 'edit-agent-config': 1 })
    expect(events.bodies).toEqual([
      {
        type: 'call.denied',
        agent_id: 'operator',
        action: 'edit-agent-config',
        reason: expect.stringContaining('can_spawn of scout'),
      },
    ])
  })

  test('the ceiling counts no denial of an agent where none asked', () => {
    const { refuse, events, journal } = aCeiling()
    const above = { subject: 'fleet', field: 'daily_usd', reason: 'it is more' }
    expect(() => refuse({ kind: 'human', role: 'owner', channel: 'telegram' }, above)).toThrow(
      'daily_usd: it is more',
    )
    expect(journal.entries).toHaveLength(1)
    expect(events.bodies).toEqual([])
  })

  test('the ceiling cuts a name that a caller made up, in record and reply alike', () => {
    const { hold, journal } = aCeiling()
    const name = 'x'.repeat(5000)
    expect(() => hold(operator, { ...raise, fields: { [name]: true } })).toThrow(
      expect.objectContaining({ extra: { field: 'x'.repeat(60) } }),
    )
    expect(journal.entries).toMatchObject([{ detail: { field: 'x'.repeat(60) } }])
  })
})
