/** Limits of one call of a skill. */
export const skillBounds = {
  wallMs: 30_000,
  /** Processor time, which is enforced even if no parent is left to watch the clock. */
  cpuSeconds: 60,
  heapMaxMb: 64,
  /** Limits all writable memory; the engine reserves half a gigabyte of it for code without using it. */
  dataMaxKib: 800_000,
  resultMaxChars: 256 * 1024,
  failureMaxChars: 2000,
  logLinesMax: 100,
  logLineMaxChars: 500,
  meshCallsMax: 100,
  /** Limit for all that a skill sends to the agent, including the inputs of its calls. */
  spokenMaxBytes: 8 * 1024 * 1024,
} as const
