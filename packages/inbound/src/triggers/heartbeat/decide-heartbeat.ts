/** The facts that decide a due heartbeat. */
interface HeartbeatFacts {
  /** True if a person requested the heartbeat. */
  readonly manual: boolean
  /** True if HEARTBEAT.md still has its default content. */
  readonly defaultRules: boolean
  /** True if people, tasks or other agents gave the agent work since its last heartbeat that ran. */
  readonly recentActivity: boolean
  readonly probeTriggered: boolean
}

/**
 * True if the heartbeat is skipped, which needs all four facts. Unknown facts must be passed as not
 * default or active, so that they never cause a skip. Pure.
 */
export function isSkipped({ manual, defaultRules, recentActivity, probeTriggered }: HeartbeatFacts): boolean {
  return !manual && defaultRules && !recentActivity && !probeTriggered
}
