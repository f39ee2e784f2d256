/** Another process may take a lease whose record did not change for this long, counted from when it first saw it. */
export const leaseMs = 60_000
/**
 * A holder that cannot renew ends itself this long after it sent the last successful renewal. The rest up to
 * `leaseMs` covers the clock drift of two machines in a minute and the time that a process takes to end.
 */
export const endsAfterMs = 45_000
/** How often the holder of a lease renews it, in milliseconds. */
export const renewEveryMs = 10_000
/** The time limit of one request to the store of the lease, in milliseconds; a late request is repeated. */
export const askMaxMs = 5_000
/** The pause before a failed request for a lease is repeated, in milliseconds. */
export const askAgainMs = 1_000
/** How often a process that waits for a lease reads it, in milliseconds. */
export const pollEveryMs = 2_000
/** How often a thread checks whether the lease has expired and the process must end, in milliseconds. */
export const watchEveryMs = 250
