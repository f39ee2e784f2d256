/** Limits of the sub-agents of one agent; limits:subagents in the specification. */
export const subagentLimits = {
  concurrentMax: 3,
  depthMax: 2,
  ttlSeconds: { default: 300, min: 1, max: 600 },
  iterationsDefault: 10,
} as const
