/** Time as an argument; no other code reads the machine's clock. */
export interface Clock {
  /** Milliseconds since 1970-01-01 UTC. */
  now(): number
  /** Resolves after `ms`; rejects with the signal's reason when that comes first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}
