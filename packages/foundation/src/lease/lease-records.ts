/**
 * PORT: the place where all machines see which process works on a home. Adapters pass `lease-records.conformance.ts`.
 *
 * Contract
 * - L1 `write` is one compare-and-set: of several concurrent writes over the same version, one succeeds.
 * - L2 `read` gives the last write of any client, and never an older one than before.
 * - L3 Every change gives a new version, even if the content is the same.
 * - L4 Both reject if the place does not answer; a rejected `write` may have been carried out.
 * - L5 Both reject with the signal's reason once it aborts.
 */
export interface LeaseRecords {
  /** Reads the record; null if none was ever written. */
  read(signal: AbortSignal): Promise<SeenRecord | null>
  /** Writes the record if its version is still `over`, else returns null; `over` null creates the first record. */
  write(record: LeaseRecord, over: string | null, signal: AbortSignal): Promise<SeenRecord | null>
}

export interface LeaseRecord {
  /** The name of the holder; null once the lease was released. */
  readonly holder: string | null
  /** How often the lease changed hands: a writer with an earlier epoch is outdated. */
  readonly epoch: number
}

export interface SeenRecord extends LeaseRecord {
  readonly version: string
}
