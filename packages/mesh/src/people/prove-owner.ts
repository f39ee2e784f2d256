import { Problem } from '@flotilla/protocol/problem'
import { actorOf } from '../access/index.ts'
import type { Caller } from '../access/index.ts'
import type { Kernel } from '../kernel/index.ts'
import type { OwnerProofs, ProofPerson } from './owner-proof.ts'

export type ProveOwner = ReturnType<typeof createProveOwner>

/**
 * A code for a program of the caller's to print, and the proof that a page of theirs is given for it. Problems `denied`,
 * `proof-wanted`, `rate-limited`.
 */
export function createProveOwner({ guard, journal }: Pick<Kernel, 'guard' | 'journal'>, proofs: OwnerProofs) {
  const record = (caller: Caller, action: 'asked' | 'given' | 'refused') =>
    journal.append({ actor: actorOf(caller), action: `proof.${action}`, subject: 'owner', detail: {} })
  return {
    issue(caller: Caller, fromPage: boolean) {
      guard(caller, { do: 'call-route', role: 'member' })
      // A page that could ask for the code itself would prove nothing.
      if (fromPage) throw new Problem('proof-wanted', { detail: 'a page is not told the code' })
      record(caller, 'asked')
      return proofs.issue(personOf(caller))
    },
    give(caller: Caller, code: string) {
      guard(caller, { do: 'call-route', role: 'member' })
      const person = personOf(caller)
      const isAsked = proofs.isAsked(person)
      try {
        const given = proofs.give(person, code)
        record(caller, 'given')
        return given
      } catch (error) {
        // Five tries of a code are the most; where none is open a page could fill the journal.
        if (isAsked) record(caller, 'refused')
        throw error
      }
    },
  }
}

function personOf(caller: Caller): ProofPerson {
  return (caller.kind === 'human' ? caller.person : undefined) ?? null
}
