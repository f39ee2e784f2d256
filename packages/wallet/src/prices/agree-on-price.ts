import type { Quote } from './price-source.ts'

/** The maximum age of a quote of a price source, in milliseconds; older quotes are ignored. */
export const freshMs = 5 * 60_000
/** How far the time of a quote may be ahead of the mesh's clock, in milliseconds; other quotes are ignored. */
const aheadMs = 60_000
/** Maximum difference between the lowest and the highest quote, in percent of the lowest. */
const apartPercent = 2n
/** The minimum number of price sources that must agree on a price. */
const sourcesMin = 2

export type AgreedPrice =
  | { readonly kind: 'agreed'; readonly attoUsd: bigint; readonly sources: readonly string[] }
  | { readonly kind: 'none'; readonly reason: string }

/**
 * Returns the highest of several fresh and similar quotes, so that limits hold whichever is right.
 * Returns no price if fewer than two different sources have one, or if they disagree. Pure.
 */
export function agreeOnPrice(quotes: readonly Quote[], now: number): AgreedPrice {
  const fresh = quotes.filter(({ at, attoUsd }) => now - at <= freshMs && at - now <= aheadMs && attoUsd > 0n)
  const sources = [...new Set(fresh.map(({ source }) => source))]
  const stale = quotes.length - fresh.length
  if (sources.length < sourcesMin) {
    const old =
      stale === 0 ? '' : `, ${stale} of them older than ${freshMs / 60_000} minutes or from the future`
    return {
      kind: 'none',
      reason: `the prices of ${sourcesMin} sources are needed, and usable prices came from ${sources.length === 0 ? 'none' : sources.join()} (${quotes.length} answers${old})`,
    }
  }
  const [first = 0n, ...others] = fresh.map(({ attoUsd }) => attoUsd)
  const [lowest, highest] = others.reduce(
    ([low, high], one) => [one < low ? one : low, one > high ? one : high] as const,
    [first, first] as const,
  )
  if ((highest - lowest) * 100n > lowest * apartPercent) {
    const quotes = fresh.map(({ source, attoUsd }) => `${source} ${formatUsd(attoUsd)}`).join(', ')
    return {
      kind: 'none',
      reason: `the prices of the sources differ by more than ${apartPercent} %: ${quotes}`,
    }
  }
  return { kind: 'agreed', attoUsd: highest, sources }
}

const attoDigits = 18

/** Formats a price as decimal US dollars. Pure. */
function formatUsd(attoUsd: bigint): string {
  const digits = String(attoUsd).padStart(attoDigits + 1, '0')
  return `${digits.slice(0, -attoDigits)}.${digits.slice(-attoDigits, -attoDigits + 6)} USD`
}

/** Parses a price of a source: digits with a point, or a number. Null if invalid. Pure. */
export function attoUsdOf(price: string | number): bigint | null {
  const text = typeof price === 'number' ? price.toFixed(attoDigits) : price
  // Allows 15 digits before the point: a float with more digits is inexact, and no asset is worth that much.
  const [, whole, fraction = ''] = /^(\d{1,15})(?:\.(\d{1,40}))?$/.exec(text) ?? []
  if (whole === undefined) return null
  return BigInt(whole + fraction.slice(0, attoDigits).padEnd(attoDigits, '0'))
}

/** Returns the value of an amount in millionths of a US dollar, rounded up. `decimals` is that of the asset. Pure. */
export function microUsdOf(
  raw: bigint,
  { decimals, attoUsd }: { decimals: number; attoUsd: bigint },
): number {
  const divisor = 10n ** BigInt(decimals + attoDigits - 6)
  const micro = (raw * attoUsd + divisor - 1n) / divisor
  // The value is capped at about nine billion dollars, which exceeds every limit.
  return Number(micro > BigInt(Number.MAX_SAFE_INTEGER) ? BigInt(Number.MAX_SAFE_INTEGER) : micro)
}
