import { proofLimits } from '@flotilla/protocol/owner-proof'
import { describe, expect, it } from 'vitest'
import { createOwnerProofs } from './owner-proof.ts'

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

describe('the owner’s proof', () => {
  it('is given for the code, once, and holds for a while', () => {
    const { issue, give, holds, pass } = proofs()
    const { code } = issue()
    expect(code).toBe('00000042')
    const { proof } = give(` ${code} `)
    expect(holds(proof)).toBe(true)
    expect(holds('another')).toBe(false)
    expect(() => give(code)).toThrow('no code is open')
    pass(proofLimits.proofMs - 1)
    expect(holds(proof)).toBe(true)
    pass(1)
    expect(holds(proof)).toBe(false)
  })

  it('is not given for a late code, a replaced one, or after five tries', () => {
    const { issue, give, pass } = proofs()
    const late = issue()
    pass(proofLimits.codeMs)
    expect(() => give(late.code)).toThrow('no code is open')
    const { code } = issue()
    for (let tries = 1; tries < proofLimits.triesMax; tries++) expect(() => give('1')).toThrow('not the code')
    expect(() => give('1')).toThrow(/opens nothing/)
    expect(() => give(code)).toThrow('no code is open')
  })

  it('is kept of so many pages at most, the newest', () => {
    const { issue, give, holds } = proofs()
    const all = Array.from({ length: proofLimits.givenMax + 1 }, () => give(issue().code).proof)
    expect(all.map(holds)).toEqual([false, ...all.slice(1).map(() => true)])
  })
})
