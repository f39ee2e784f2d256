const mb = 1024 * 1024

/** What requests of agents for packages may use before a person decides. */
export const packageRequestLimits = {
  /** Requests that wait for a lock or for a person. */
  open: { perAgentMax: 3, max: 30, floor: 1 },
  /** Requests within an hour; each may try to choose a lock `attemptsMax` times. */
  perHour: { perAgentMax: 6, max: 24, floor: 1 },
  /** The maximum size of the downloads of one choice, in bytes; one lock is chosen at a time. */
  downloadMaxBytes: 1024 * mb,
  /** The time limit of one choice, in milliseconds. */
  resolveMaxMs: 10 * 60_000,
  /** How often a choice is tried that failed for a reason that may pass, or that the end of the mesh interrupted. */
  attemptsMax: 3,
  /** The pause before it is tried again, in milliseconds. */
  retryAfterMs: 30_000,
  /** The maximum number of files that a request adds or changes: a person has to be able to read them. */
  filesMax: 300,
  /** The maximum size of a lock that waits for a person, as JSON, in bytes. */
  lockMaxBytes: 4 * mb,
} as const

export const hourMs = 3600_000
