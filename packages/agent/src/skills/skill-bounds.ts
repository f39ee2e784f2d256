/** What one call of a skill may use up. */
export const skillBounds = {
  wallMs: 30_000,
  /** Of processor time, which holds even where nobody is left to watch the clock. */
  cpuSeconds: 60,
  heapMaxMb: 64,
  /** Of everything that it writes to in memory. The engine sets half a gigabyte apart for code and does not use it. */
  dataMaxKib: 800_000,
  resultMaxChars: 256 * 1024,
  failureMaxChars: 2000,
  logLinesMax: 100,
  logLineMaxChars: 500,
  meshCallsMax: 100,
  /** Of all that it says to the agent, the inputs of its calls included. */
  spokenMaxBytes: 8 * 1024 * 1024,
} as const
