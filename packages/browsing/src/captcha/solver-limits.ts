/** Limits of the paid CAPTCHA solver, if the owner has set one up: for all agents together. */
export const solverLimits = {
  /** After this many consecutive failures no call is made for `restMs`. */
  failuresMax: 3,
  restMs: 30 * 60_000,
  /** The time limit for one key, from the request to the answer. */
  answerWithinMs: 120_000,
  pollEveryMs: 5000,
  /** The time limit of one request to the solver. */
  requestTimeoutMs: 15_000,
  /** The size limit of a reply after decompression. */
  replyMaxBytes: 64 * 1024,
} as const
