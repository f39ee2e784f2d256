/** Bounds of messages between agents; both sides of the agent API agree on them. */
export const messageLimits = {
  textMaxChars: 20_000,
  /** Seconds that one call waits for an answer. What comes later is told the run when its turn has ended. */
  waitMaxSeconds: 120,
  /** Messages that one run may send in all its turns. */
  perRunMax: 20,
  /** Messages of all runs together that come of one stimulus, near or far. */
  perStimulusMax: 60,
  /** Messages that wait for the operator's next heartbeat; beyond it a worker is refused. */
  keptMax: 100,
  /** Of these, messages of one sender, so that one cannot keep all others from being heard. */
  keptPerSenderMax: 20,
  capabilitiesPerAgentMax: 20,
  capabilityMaxChars: 64,
} as const

/** How a message is addressed to whoever can, and not to one agent. */
export const capabilityPrefix = 'capability:'
