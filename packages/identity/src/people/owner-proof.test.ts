import { proofLimits } from '@flotilla/protocol/owner-proof'
import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, it } from 'vitest'
import { createOwnerProofs } from './owner-proof.ts'
import { createProveOwner } from './prove-owner.ts'

function proofs() {
  let now = 1_000_000
  let number = 0
  const api = createOwnerProofs({
    clock: { now: () => now },
    randomToken: () => `token-${++number}`,
    randomNumber: () => 42 + number,
  })
  return { ...api, pass: (ms: number) => void (now += ms) }
}

describe("the owner's proof", () => {
  it('a proof is given for the code, once, and expires', () => {
    const { issue, give, holds, pass } = proofs()
    const { code } = issue(null)
    expect(code).toBe('00000042')
    const { proof } = give(null, ` ${code} `)
    expect(holds(proof, null)).toBe(true)
    expect(holds('another', null)).toBe(false)
    expect(() => give(null, code)).toThrow('no code is open')
    pass(proofLimits.proofMs - 1)
    expect(holds(proof, null)).toBe(true)
    pass(1)
    expect(holds(proof, null)).toBe(false)
  })

  it('code and proof are valid only for one person', () => {
    const { issue, give, holds } = proofs()
    const { code } = issue('odo')
    for (const other of [null, 'eve']) expect(() => give(other, code)).toThrow('no code is open')
    const { proof } = give('odo', code)
    expect([holds(proof, 'odo'), holds(proof, null), holds(proof, 'eve')]).toEqual([true, false, false])
  })

  it('wrong attempts of others do not affect a person, with or without a code of their own', () => {
    const { issue, give, isCodeOpen } = proofs()
    const { code } = issue(null)
    issue('eve')
    for (let tries = 0; tries < 2 * proofLimits.triesMax; tries++) {
      expect(() => give('eve', '1')).toThrow(Problem)
      expect(() => give('bob', '1')).toThrow('no code is open')
    }
    expect([isCodeOpen(null), isCodeOpen('eve'), isCodeOpen('bob')]).toEqual([true, false, false])
    expect(give(null, code).proof).toMatch(/^token/)
  })

  it('no proof is given for an expired or replaced code or after five attempts', () => {
    const { issue, give, pass } = proofs()
    const late = issue(null)
    pass(proofLimits.codeMs)
    expect(() => give(null, late.code)).toThrow(expect.objectContaining({ code: 'rate-limited' }))
    const { code } = issue(null)
    for (let tries = 1; tries < proofLimits.triesMax; tries++)
      expect(() => give(null, '1')).toThrow('wrong code')
    expect(() => give(null, '1')).toThrow(/the code is invalid/)
    expect(() => give(null, code)).toThrow('no code is open')
  })

  it('the newest proofs and codes are kept, up to a limit', () => {
    const { issue, give, holds, isCodeOpen } = proofs()
    const all = Array.from({ length: proofLimits.givenMax + 1 }, () => give(null, issue(null).code).proof)
    expect(all.map((proof) => holds(proof, null))).toEqual([false, ...all.slice(1).map(() => true)])
    const people = Array.from({ length: proofLimits.openMax + 1 }, (_, index) => `p${index}`)
    for (const person of people) issue(person)
    expect(people.map(isCodeOpen)).toEqual([false, ...people.slice(1).map(() => true)])
  })

  it('a person who requests another code evicts no one and counts as the newest', () => {
    const { issue, isCodeOpen } = proofs()
    const people = Array.from({ length: proofLimits.openMax }, (_, index) => `p${index}`)
    for (const person of people) issue(person)
    issue('p1')
    expect(people.filter((person) => !isCodeOpen(person))).toEqual([])
    for (const other of ['somebody', 'somebody else']) issue(other)
    expect(people.filter((person) => !isCodeOpen(person))).toEqual(['p0', 'p2'])
  })
})

describe('the audit log of proofs', () => {
  const owner = { kind: 'human', channel: 'dashboard', role: 'owner' } as const

  it('the audit log has a row for each attempt of a code, and none for what could flood it', () => {
    const rows: string[] = []
    const journal = { append: ({ action }: { action: string }) => void rows.push(action) }
    const prove = createProveOwner({ guard: () => {}, journal }, proofs())
    for (let tries = 0; tries < 50; tries++) expect(() => prove.give(owner, '1')).toThrow('no code is open')
    expect(rows).toEqual([])
    prove.issue(owner, false)
    for (let tries = 0; tries < 50; tries++) expect(() => prove.give(owner, '1')).toThrow(Problem)
    expect(rows).toEqual([
      'proof.asked',
      ...Array.from({ length: proofLimits.triesMax }, () => 'proof.refused'),
    ])
  })
})
