export const browserLimits = {
  /** How long a page with a CAPTCHA waits for a person, in milliseconds. */
  captchaWaitMs: 60 * 60_000,
  /**
   * How long a person may keep control of a browser without watching its screen, in milliseconds; then control
   * returns to the agent.
   */
  unwatchedControlMs: 10 * 60_000,
  /** The maximum number of people who watch the screen of one browser. */
  watchersPerBrowserMax: 8,
  /** The maximum number of people who watch the screens of all browsers together. */
  watchersMax: 64,
} as const
