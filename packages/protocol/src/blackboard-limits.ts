/** Plain values, so that an agent reads them without the schema library. */
export const watchLimits = {
  /**
   * The maximum length of the key pattern of a watch, in characters; short, because each write is matched against
   * every pattern, and an agent could write a slow one.
   */
  patternMaxChars: 128,
  /** The maximum number of watches of one agent. */
  perAgentMax: 20,
  /** The maximum number of watches of all agents together. */
  max: 300,
  /** The number of watches reserved for each agent, even if others have used up the total. */
  floor: 1,
  /** The maximum number of keys of one watch whose changes wait for delivery. */
  changesMax: 200,
  /**
   * The maximum number of runs and steers that all watches of one agent may cause in an hour, watches that have ended
   * included. The limit stops two agents that watch each other from triggering each other forever.
   */
  notifiedPerAgentAndHourMax: 60,
} as const

/**
 * Limits for all keys of the blackboard (expired ones that are still stored included) and for the entries under
 * `history/`, which cannot be overwritten: in total, per writer, and the floor that is reserved for each writer.
 */
export const blackboardShare = {
  keys: { max: 20_000, perAgentMax: 5000, floor: 16 },
  history: { max: 10_000, perAgentMax: 2500, floor: 8 },
  /**
   * The maximum size of the stored blackboard: bytes of all keys and of their values as JSON, in total and per
   * writer, and the floor that is reserved for each writer.
   */
  bytes: { max: 256 * 1024 * 1024, perAgentMax: 64 * 1024 * 1024, floor: 512 * 1024 },
} as const

/**
 * Limits for the overwritten values that the mesh keeps for people. Beyond them it deletes the oldest values of the
 * writer that has the most.
 */
export const versionLimits = {
  /** The maximum number of overwritten values that are kept of one key. */
  perKeyMax: 20,
  /** The maximum number of overwritten values that are kept of all keys together. */
  max: 20_000,
  /** The maximum size of all overwritten values that are kept, in bytes of JSON. */
  maxBytes: 64 * 1024 * 1024,
} as const

/** How a watch notifies its agent: by a new run, or by a steer of its current run (a new run if it has none). */
export const watchDeliveries = ['run', 'steer'] as const
export type WatchDelivery = (typeof watchDeliveries)[number]
