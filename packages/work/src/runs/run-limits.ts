/** Limits of runs and their lanes. */
export const runLimits = {
  /** The maximum number of queued runs in one lane (ledger invariant R6). */
  laneQueueMax: 100,
  queuedMaxMs: 24 * 3600 * 1000,
  waitingMaxMs: 7 * 24 * 3600 * 1000,
  leaseMs: 60_000,
  runAttemptsMax: 3,
  handOffDepthMax: 8,
} as const
