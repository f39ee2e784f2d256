/** Limits of one delivery to a webhook. */
export const deliveryLimits = {
  /** The maximum size of the body of a webhook delivery, in bytes. */
  bodyMaxBytes: 1024 * 1024, // limits:webhook-body
  /** How much of a webhook's payload the agent gets, in characters. */
  forwardedMaxChars: 3000, // limits:webhook-forwarded-chars
} as const
