import type { OwnerIdentity, Person } from '@flotilla/protocol/people'

/** The people that the people's API knows in addition to the owner of this machine. */
export interface KnownPeople {
  /** Whether this is a valid proof of this person; null means an owner whom the file does not name. */
  isProven(proof: string, person: string | null): boolean
  /** Why no person is known now; null while the file is valid or missing. */
  broken(): string | null
  byToken(token: string): Person | null
  /** Finds a person by the id of a user account on this machine. */
  byUser(userId: number): Person | null
  /** The name of the owner with this identity; null if no entry has one. */
  ownerBy(identity: OwnerIdentity): string | null
  /** Called whenever a person's identity or rights may have changed. */
  onChange(listener: () => void): void
}
