import { describe, expect, it } from 'vitest'
import type { HumanCaller } from './caller.ts'
import { requireProof } from './require-proof.ts'

const owner: HumanCaller = { kind: 'human', role: 'owner', channel: 'dashboard' }

describe('the owner’s proof in a use case', () => {
  it('the owner’s proof in a use case is required of a page that brought none, whatever its session', () => {
    for (const caller of [owner, { ...owner, local: true }, { ...owner, channel: 'cli' }] as const)
      expect(() => requireProof({ ...caller, page: 'unproved' }, 'raise a budget')).toThrow(
        /to raise a budget/,
      )
  })

  it('the owner’s proof in a use case is not required of a page that brought it or of callers other than pages', () => {
    for (const caller of [
      { ...owner, page: 'proved' },
      owner,
      { kind: 'internal' },
      { kind: 'system' },
      { kind: 'agent', agentId: 'operator', token: 'door', run: null },
    ] as const)
      expect(() => requireProof(caller, 'raise a budget')).not.toThrow()
  })
})
