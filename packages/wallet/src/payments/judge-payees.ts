import { isSameAddress } from '../chain/address-key.ts'

/** How many characters at each end of an address people compare, and an attacker imitates. */
const comparedChars = 4

/**
 * Returns an address as a person sees it: with the owner's name for it, or with a warning if it
 * only resembles a known address. Pure.
 */
export function describeAddress(
  address: string,
  known: { readonly names: Readonly<Record<string, string>>; readonly paid: readonly string[] },
): { readonly words: string; readonly isNamed: boolean } {
  const named = Object.entries(known.names)
  const name = named.find(([, one]) => isSameAddress(one, address))?.[0]
  if (name !== undefined) return { words: `${address} (${name})`, isNamed: true }
  const alike = [...named, ...known.paid.map((one) => [one, one] as const)].find(
    ([, one]) => !isSameAddress(one, address) && looksLike(one, address),
  )
  if (alike === undefined) return { words: address, isNamed: false }
  const [whose, one] = alike
  const meant = whose === one ? one : `${whose} (${one})`
  return {
    words: `${address} (WARNING: this address begins and ends like ${meant}, but differs)`,
    isNamed: false,
  }
}

function looksLike(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => text.toLowerCase().replace(/^0x/, ''))
  if (a === undefined || b === undefined) return false
  return (
    a.slice(0, comparedChars) === b.slice(0, comparedChars) &&
    a.slice(-comparedChars) === b.slice(-comparedChars)
  )
}
