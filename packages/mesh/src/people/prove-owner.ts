import { Problem } from '@flotilla/protocol/problem'
import { actorOf } from '../access/index.ts'
import type { Caller } from '../access/index.ts'
import type { Kernel } from '../kernel/index.ts'
import type { OwnerProofs } from './owner-proof.ts'

export type ProveOwner = ReturnType<typeof createProveOwner>

/** A code for a program of the owner's to print, and the proof that a page is given for it. Problems `denied`, `proof-wanted`. */
export function createProveOwner({ guard, journal }: Pick<Kernel, 'guard' | 'journal'>, proofs: OwnerProofs) {
  return {
    issue(caller: Caller, fromPage: boolean) {
      guard(caller, { do: 'manage-people' })
      // A page that could ask for the code itself would prove nothing.
      if (fromPage) throw new Problem('proof-wanted', { detail: 'a page is not told the code' })
      journal.append({ actor: actorOf(caller), action: 'proof.asked', subject: 'owner', detail: {} })
      return proofs.issue()
    },
    give(caller: Caller, code: string) {
      guard(caller, { do: 'manage-people' })
      try {
        const given = proofs.give(code)
        journal.append({ actor: actorOf(caller), action: 'proof.given', subject: 'owner', detail: {} })
        return given
      } catch (error) {
        journal.append({ actor: actorOf(caller), action: 'proof.refused', subject: 'owner', detail: {} })
        throw error
      }
    },
  }
}
