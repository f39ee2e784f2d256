import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, it } from 'vitest'
import type { Caller } from '../access/index.ts'
import { authorize } from '../access/authorize.ts'
import { createOwnerProofs } from './owner-proof.ts'
import { createProveOwner } from './prove-owner.ts'

const owner: Caller = { kind: 'human', channel: 'cli', role: 'owner' }
const odo: Caller = { ...owner, person: 'odo' }
const eve: Caller = { ...owner, person: 'eve' }

function proving() {
  const rows: { actor: string; action: string; subject: string }[] = []
  const proofs = createOwnerProofs({
    clock: { now: () => 0 },
    randomToken: () => 'token',
    randomNumber: () => 42,
  })
  const prove = createProveOwner(
    {
      guard: (caller, action) => {
        const decision = authorize({ broken: null, recordOf: () => undefined }, caller, action)
        if (!decision.allowed) throw new Problem('denied', { detail: decision.reason })
      },
      journal: { append: ({ actor, action, subject }) => void rows.push({ actor, action, subject }) },
    },
    proofs,
  )
  return { prove, proofs, rows }
}

describe('the proof of an owner', () => {
  it('a page gets the proof for the code that a program printed, and the audit log records both', () => {
    const { prove, proofs, rows } = proving()
    const { code } = prove.issue(owner, false)
    const { proof } = prove.give(owner, code)
    expect(proofs.holds(proof, null)).toBe(true)
    const row = { actor: 'human:cli', subject: 'owner' }
    expect(rows).toEqual([
      { ...row, action: 'proof.asked' },
      { ...row, action: 'proof.given' },
    ])
  })

  it('a page cannot request the code, because it would prove nothing', () => {
    const { prove, proofs, rows } = proving()
    expect(() => prove.issue(owner, true)).toThrow(
      expect.objectContaining({ code: 'proof-wanted', detail: 'a page cannot request the code' }),
    )
    expect([proofs.isCodeOpen(null), rows]).toEqual([false, []])
  })

  it('a code of one owner is not valid at the page of another', () => {
    const { prove, proofs } = proving()
    const { code } = prove.issue(odo, false)
    for (const other of [owner, eve]) {
      expect(() => prove.give(other, code)).toThrow(expect.objectContaining({ code: 'rate-limited' }))
    }
    const { proof } = prove.give(odo, code)
    expect([null, 'odo', 'eve'].map((person) => proofs.holds(proof, person))).toEqual([false, true, false])
  })

  it('members and owners can get a proof, viewers and callers that are not people cannot', () => {
    const { prove, rows } = proving()
    const member: Caller = { kind: 'human', channel: 'cli', role: 'member', person: 'ann', agents: [] }
    expect(prove.issue(member, false).code).toBe('00000042')
    const others: readonly Caller[] = [
      { kind: 'human', channel: 'cli', role: 'viewer', person: 'vic' },
      { kind: 'agent', agentId: 'operator', token: 'door', run: null },
      { kind: 'internal' },
    ]
    const denied = expect.objectContaining({ code: 'denied' })
    for (const caller of others) {
      expect(() => prove.issue(caller, false)).toThrow(denied)
      expect(() => prove.give(caller, '00000042')).toThrow(denied)
    }
    expect(rows.map(({ action }) => action)).toEqual(['proof.asked'])
  })
})
