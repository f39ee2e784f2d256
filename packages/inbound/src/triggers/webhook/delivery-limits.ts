/** Limits of what a sender of webhooks may deliver. */
export const deliveryLimits = {
  bodyMaxBytes: 1024 * 1024, // limits:webhook-body
  /** Characters of a payload that the agent is shown. */
  forwardedMaxChars: 3000, // limits:webhook-forwarded-chars
} as const
