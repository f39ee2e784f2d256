/** Limits of the lifecycle of agents. */
export const lifecycleLimits = {
  /** After this number of unanswered health checks in a row an agent counts as lost. */
  missesMax: 3,
  /** How long a stopping mesh waits for the work of its agents before it aborts the rest, in milliseconds. */
  shutdownMs: 30_000,
} as const
