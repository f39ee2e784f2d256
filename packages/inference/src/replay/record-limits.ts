/** Limits of the recorded model conversations of runs, by which a run can be inspected, replayed and forked. */
export const recordLimits = {
  /** Bytes per run; later exchanges are not stored, and the record says so. */
  runMaxBytes: 8 * 1024 * 1024,
  exchangesPerRunMax: 1000,
  /** Messages of one run, counted in full for each of its exchanges, because a reader goes through them all. */
  messagesPerRunMax: 1_000_000,
  /** The share of all records that one agent's records may take. */
  agentShareMax: 0.5,
} as const
