/** A lease whose record did not change for so long may be had by another, who counts from when it first saw that. */
export const leaseMs = 60_000
/**
 * A holder that could not renew ends itself so long after it asked for the last renewal that was granted. The rest up to
 * `leaseMs` is what clocks of two machines may differ by in a minute, and what a process takes to end.
 */
export const endsAfterMs = 45_000
export const renewEveryMs = 10_000
/** Of one question; then it is asked anew. */
export const askMaxMs = 5_000
export const askAgainMs = 1_000
/** How often one who waits looks. */
export const pollEveryMs = 2_000
/** How often the thread looks that ends the process. */
export const watchEveryMs = 250
