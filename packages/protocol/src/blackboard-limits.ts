/** Plain values, so that an agent reads them without the schema library. */
export const watchLimits = {
  /** Each write is held against every pattern, and one may be made to be slow. */
  patternMaxChars: 128,
  perAgentMax: 20,
  max: 300,
  /** What an agent may watch though others have taken all. */
  floor: 1,
  /** Keys of one watch whose changes wait. */
  changesMax: 200,
  /**
   * Runs and steers of all watches of one agent in an hour, ended ones too: two agents that watch each other come to an
   * end here.
   */
  toldPerAgentAndHourMax: 60,
} as const

/**
 * Keys of the blackboard, expired ones that are still kept among them, and of these the entries under `history/`, which
 * cannot be overwritten: of all, of one writer, and what a writer has room for though others have filled it.
 */
export const blackboardShare = {
  keys: { max: 20_000, perAgentMax: 5000, floor: 16 },
  history: { max: 10_000, perAgentMax: 2500, floor: 8 },
  /** Keys with their values as JSON. */
  bytes: { max: 256 * 1024 * 1024, perAgentMax: 64 * 1024 * 1024, floor: 512 * 1024 },
} as const

/**
 * What is kept of the values that were written over, for people. Beyond it the oldest of the writer that has most of them
 * are deleted.
 */
export const versionLimits = {
  /** Of one key. */
  perKeyMax: 20,
  /** Of all keys. */
  max: 20_000,
  /** Of all values as JSON. */
  maxBytes: 64 * 1024 * 1024,
} as const

/** By a run of its own, or within the work that the agent is at; where it is at none, that is a run too. */
export const watchTells = ['run', 'steer'] as const
export type WatchTell = (typeof watchTells)[number]
