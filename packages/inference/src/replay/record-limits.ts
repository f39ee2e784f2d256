/** Limits of the recorded model conversations of runs, by which a run can be inspected, replayed and forked. */
export const recordLimits = {
  /** The maximum size of the record of one run, in bytes; later exchanges are not stored, and the record says so. */
  runMaxBytes: 8 * 1024 * 1024,
  exchangesPerRunMax: 1000,
  /**
   * The maximum number of messages of one run, counted in full for each of its exchanges, because a reader of the
   * record goes through them all.
   */
  messagesPerRunMax: 1_000_000,
  /** The share of all records, from 0 to 1, that the records of one agent may take. */
  agentShareMax: 0.5,
} as const
