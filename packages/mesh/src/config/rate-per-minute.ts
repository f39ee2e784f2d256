/**
 * Calls per minute that one agent may make, by what they ask for; each is a setting. A call that no row of
 * `policy/rate-limits` names counts as `other`.
 */
export const ratePerMinute = {
  llm: 600,
  http: 600,
  credentials: 600,
  blackboard_read: 6000,
  blackboard_write: 3000,
  notify: 300,
  tasks: 300,
  artifacts: 300,
  other: 3000,
} as const

export type RateBucket = keyof typeof ratePerMinute
