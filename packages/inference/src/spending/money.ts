/** Money is whole nano-dollars inside, so that sums are exact; 30,000 dollars are 3e13 of them. Pure. */
export const nanoPerUsd = 1_000_000_000

/** Converts US dollars, rounding up, so that the result is never less than the amount. */
export function nanoFromUsd(usd: number): number {
  // The subtrahend keeps a sum such as 0.1 + 0.2 from costing one more.
  return Math.max(0, Math.ceil(usd * nanoPerUsd - 1e-3))
}

export function usdFromNano(nano: number): number {
  return nano / nanoPerUsd
}
