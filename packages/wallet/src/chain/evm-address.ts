import { Problem } from '@flotilla/protocol/problem'
import { addr } from 'micro-eth-signer'

/** Returns the address in its EIP-55 spelling. Problem `bad-request` for any other text or a wrong checksum. Pure. */
export function evmAddressOf(text: string, what: string): string {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) {
    throw new Problem('bad-request', {
      detail: `${what} must be 0x followed by 40 hexadecimal digits`,
      repair:
        'Names such as name.eth are not supported. Copy the address itself from the place where you found it.',
    })
  }
  const hex = text.slice(2)
  const spelled = addr.addChecksum(`0x${hex.toLowerCase()}`)
  // An address in one letter case carries no checksum.
  if (hex !== hex.toLowerCase() && hex !== hex.toUpperCase() && spelled !== text) {
    throw new Problem('bad-request', {
      detail: `the checksum of ${what} is wrong: a character, or the case of a letter, was changed`,
      repair: 'Copy the address again from the place where you found it; do not correct it by hand.',
    })
  }
  return spelled
}

/** True if both texts are the same address, ignoring case. Pure. */
export function sameEvmAddress(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}
