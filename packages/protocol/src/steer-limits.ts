/** Plain values, so that an agent need not load the schemas. All steers fit into one body with the run's message. */
export const steerLimits = {
  /** The maximum number of steers of one run, over all its turns. */
  perRunMax: 50,
  /** The maximum length of one steer, in characters. */
  maxChars: 4000,
} as const
