import { chains } from '@flotilla/protocol/wallet-api'
import { isSameAddress } from '../chain/address-key.ts'

/** Replaces every character of a symbol that is not plain. */
const unknownChar = '?'
/** The minimum number of plain characters from which a resemblance can be detected. */
const plainCharsMin = 2
/** Look-alike characters. Each maps to the character that represents its group. */
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
 * Returns the name that a token's symbol imitates: a coin of a chain, or a token that the owner
 * knows. Null if the symbol imitates no name, and for a token that the owner knows. Pure.
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

/** Returns the text as a hurried reader perceives it, with look-alike characters replaced. */
function shapeOf(text: string): string {
  return Array.from(text.toUpperCase().replaceAll('VV', 'W').replaceAll('RN', 'M'))
    .map((char) => alike[char] ?? char)
    .filter((char) => /[A-Z0-9?]/.test(char))
    .join('')
}
