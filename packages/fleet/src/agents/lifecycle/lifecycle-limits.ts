/** Limits of the lifecycle of agents. */
export const lifecycleLimits = {
  /** Consecutive health checks that an agent may leave unanswered. */
  missesMax: 3,
  /** A stopping mesh waits this long for running work of its agents, and then aborts the rest. */
  shutdownMs: 30_000,
} as const
