/** Bounds of messages between agents; both sides of the agent API agree on them. */
export const messageLimits = {
  textMaxChars: 20_000,
  /** How many seconds one call waits for an answer. A later answer reaches the run after its turn has ended. */
  waitMaxSeconds: 120,
  /** Messages that one run may send in all its turns. */
  perRunMax: 20,
  /** Messages of all runs together that one trigger caused, directly or not. */
  perStimulusMax: 60,
  /** Messages that wait for the operator's next heartbeat. Beyond this, further ones of workers are refused. */
  keptMax: 100,
  /** The maximum number of waiting messages from one sender, so that no sender displaces all others. */
  keptPerSenderMax: 20,
  capabilitiesPerAgentMax: 20,
  capabilityMaxChars: 64,
} as const

/** The prefix that addresses a message to any agent with a capability, not to one agent. */
export const capabilityPrefix = 'capability:'
