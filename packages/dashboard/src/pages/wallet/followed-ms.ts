/** No event tells what became of a payment or of the seed: they are asked for so often while the page is looked at. */
export const followedMs = 10_000
