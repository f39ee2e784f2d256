/** The polling interval for payments and the seed, which have no events, while the page is visible. */
export const followedMs = 10_000
