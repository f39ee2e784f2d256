import { chains } from '@flotilla/protocol/wallet-api'
import { isSameAddress } from './judge-payees.ts'

/** In a symbol, in the place of what is no plain character. */
const unknownChar = '?'
/** Fewer of them say nothing of what they are like. */
const plainCharsMin = 2
/** Drawn alike, or nearly: each is taken for the last of its line. */
const alike: Readonly<Record<string, string>> = {
  '0': 'O',
  Q: 'O',
  '1': 'I',
  L: 'I',
  '!': 'I',
  '|': 'I',
  '5': 'S',
  $: 'S',
  '8': 'B',
  '2': 'Z',
}

/**
 * The name of something else that a token calls itself, or nearly: a coin of a chain, or an address that the owner knows. Null where it
 * is none, and for a token that the owner knows itself. Pure.
 */
export function imitatedBy(
  { address, symbol }: { readonly address: string; readonly symbol: string },
  names: Readonly<Record<string, string>>,
): string | null {
  const known = Object.entries(names)
  if (known.some(([, one]) => isSameAddress(one, address))) return null
  const coins = Object.values(chains).map(({ coin }) => coin)
  const drawn = shapeOf(symbol)
  if (drawn.replaceAll(unknownChar, '').length < plainCharsMin) return null
  return [...coins, ...known.map(([name]) => name)].find((name) => isDrawnAs(drawn, shapeOf(name))) ?? null
}

function isDrawnAs(drawn: string, name: string): boolean {
  return (
    drawn.length === name.length &&
    Array.from(drawn).every((char, at) => char === unknownChar || char === name.charAt(at))
  )
}

/** What is left of it for whoever reads in a hurry. */
function shapeOf(text: string): string {
  return Array.from(text.toUpperCase().replaceAll('VV', 'W').replaceAll('RN', 'M'))
    .map((char) => alike[char] ?? char)
    .filter((char) => /[A-Z0-9?]/.test(char))
    .join('')
}
