export const browserLimits = {
  /** How long a page with a CAPTCHA waits for a person. */
  captchaWaitMs: 60 * 60_000,
  /** After this time without watching the screen, a person's control returns to the agent. */
  unwatchedControlMs: 10 * 60_000,
  /** Viewers of screens, per browser and in total. */
  watchersPerBrowserMax: 8,
  /** The maximum number of people who watch the screens of all browsers together. */
  watchersMax: 64,
} as const
