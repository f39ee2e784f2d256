import type { OwnerIdentity, Person } from '@flotilla/protocol/people'

/** Whom the people's API knows beside the owner of this machine. */
export interface KnownPeople {
  /** Whether this is a proof that still holds, of this person; null is an owner whom the file does not name. */
  isProven(proof: string, person: string | null): boolean
  /** Why nobody is known at the moment, in words; null while the file is whole or missing. */
  broken(): string | null
  byToken(token: string): Person | null
  /** By the number of an account of this machine. */
  byUser(userId: number): Person | null
  /** What the owner is called who comes so; null where no entry says. */
  ownerBy(identity: OwnerIdentity): string | null
  /** Called whenever somebody may have become another. */
  onChange(listener: () => void): void
}
