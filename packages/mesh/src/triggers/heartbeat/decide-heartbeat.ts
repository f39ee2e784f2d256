/** What a heartbeat that was due is decided by. */
interface HeartbeatFacts {
  /** A person asked for it. */
  readonly manual: boolean
  /** HEARTBEAT.md says what it says in every new agent. */
  readonly defaultRules: boolean
  /** People, tasks or other agents gave it something to do in the last days. */
  readonly recentActivity: boolean
  readonly probeTriggered: boolean
}

/**
 * Pure. Skipped only where all four say so. What is not known is no reason to skip: whoever could not read the rules
 * or the activity says that they are not default, or that there was some.
 */
export function isSkipped({ manual, defaultRules, recentActivity, probeTriggered }: HeartbeatFacts): boolean {
  return !manual && defaultRules && !recentActivity && !probeTriggered
}
