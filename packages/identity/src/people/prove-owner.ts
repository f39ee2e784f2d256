import { Problem } from '@flotilla/protocol/problem'
import { actorOf } from '../access/index.ts'
import type { Caller } from '../access/index.ts'
import type { Kernel } from '../kernel/index.ts'
import type { OwnerProofs, ProofPerson } from './owner-proof.ts'

export type ProveOwner = ReturnType<typeof createProveOwner>

/**
 * Issues a code for a program of the caller and exchanges it for a proof at a page. Throws the Problems `denied`,
 * `proof-wanted` and `rate-limited`.
 */
export function createProveOwner({ guard, journal }: Pick<Kernel, 'guard' | 'journal'>, proofs: OwnerProofs) {
  const record = (caller: Caller, action: 'asked' | 'given' | 'refused') =>
    journal.append({ actor: actorOf(caller), action: `proof.${action}`, subject: 'owner', detail: {} })
  return {
    issue(caller: Caller, fromPage: boolean) {
      guard(caller, { do: 'call-route', role: 'member' })
      // A page that could request the code itself would prove nothing.
      if (fromPage) throw new Problem('proof-wanted', { detail: 'a page cannot request the code' })
      record(caller, 'asked')
      return proofs.issue(personOf(caller))
    },
    give(caller: Caller, code: string) {
      guard(caller, { do: 'call-route', role: 'member' })
      const person = personOf(caller)
      const isCodeOpen = proofs.isCodeOpen(person)
      try {
        const given = proofs.give(person, code)
        record(caller, 'given')
        return given
      } catch (error) {
        // A code has at most five attempts. Without an open code, a page could otherwise flood the audit log.
        if (isCodeOpen) record(caller, 'refused')
        throw error
      }
    },
  }
}

function personOf(caller: Caller): ProofPerson {
  return (caller.kind === 'human' ? caller.person : undefined) ?? null
}
