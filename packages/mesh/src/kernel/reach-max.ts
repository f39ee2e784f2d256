/**
 * Longest wait of whoever asks an agent that may have to be started first, milliseconds: a machine may wait 90 s for a
 * processor and take 180 s to answer. Below the 300 s after which clients take a line without a word for dead.
 */
export const reachMaxMs = 280_000
