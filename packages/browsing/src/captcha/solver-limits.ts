/** Limits of the paid CAPTCHA solver, if the owner has set one up: for all agents together. */
export const solverLimits = {
  /** The number of consecutive failures after which the paid solver is not called for `restMs`. */
  failuresMax: 3,
  restMs: 30 * 60_000,
  /** The time limit for one key of the paid solver, from the request to the answer, in milliseconds. */
  answerWithinMs: 120_000,
  pollEveryMs: 5000,
  /** The time limit of one HTTP request to the paid solver, in milliseconds. */
  requestTimeoutMs: 15_000,
  /** The maximum size of a reply of the paid solver after decompression, in bytes. */
  replyMaxBytes: 64 * 1024,
} as const
