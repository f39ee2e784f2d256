/**
 * PORT: where all machines see who works on a home. Adapters pass `lease-records.conformance.ts`.
 *
 * Contract
 * - L1 `write` is one comparison and one change: of several that come with the same version at the same time, one succeeds.
 * - L2 `read` gives what was written last, by whomever; never something older than what it gave before.
 * - L3 every change gives a new version, also one that says the same again.
 * - L4 both reject where the place does not answer; whether a `write` that rejected was carried out is not known then.
 * - L5 both reject with the signal's reason once it aborts.
 */
export interface LeaseRecords {
  /** Null where nobody ever wrote one. */
  read(signal: AbortSignal): Promise<SeenRecord | null>
  /** Null where the record is not (or no longer) of version `over`; `over` null makes the first. */
  write(record: LeaseRecord, over: string | null, signal: AbortSignal): Promise<SeenRecord | null>
}

export interface LeaseRecord {
  /** Null once it was given back. */
  readonly holder: string | null
  /** How often it changed hands: whoever writes for an earlier time is out of date. */
  readonly epoch: number
}

export interface SeenRecord extends LeaseRecord {
  readonly version: string
}
