/** Plain values, so that an agent reads them without the schema library. With both, all steers fit one body beside the run's message. */
export const steerLimits = {
  /** The maximum number of steers of one run, over all its turns. */
  perRunMax: 50,
  maxChars: 4000,
} as const
