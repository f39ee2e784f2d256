import type { OwnerIdentity, Person } from '@flotilla/protocol/people'

/** Whom the people's door knows beside the owner of this machine. */
export interface KnownPeople {
  /** Whether this is a proof of the owner’s that still holds. */
  isProven(proof: string): boolean
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
