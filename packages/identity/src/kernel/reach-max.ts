/**
 * Longest wait for an agent that may have to be started first, in milliseconds: a virtual machine may wait 90 s for a
 * processor and take 180 s to start. Below 300 s, after which HTTP clients abort a silent connection.
 */
export const reachMaxMs = 280_000
