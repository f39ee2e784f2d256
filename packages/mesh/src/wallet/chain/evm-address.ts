import { Problem } from '@flotilla/protocol/problem'
import { addr } from 'micro-eth-signer'

/** In the one spelling of EIP-55. Problem `bad-request` for anything that is none, a wrong checksum included. Pure. */
export function evmAddressOf(text: string, what: string): string {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) {
    throw new Problem('bad-request', {
      detail: `${what} is 0x and 40 hexadecimal digits`,
      repair: 'Names are not looked up here: give the address itself, from the place that you have it from.',
    })
  }
  const hex = text.slice(2)
  const spelled = addr.addChecksum(`0x${hex.toLowerCase()}`)
  // Of one case alone it carries no checksum.
  if (hex !== hex.toLowerCase() && hex !== hex.toUpperCase() && spelled !== text) {
    throw new Problem('bad-request', {
      detail: `the checksum of ${what} is wrong: a letter of it was changed, or its case`,
      repair: 'Take the address again from the place that you have it from; do not correct it by hand.',
    })
  }
  return spelled
}

/** Pure. */
export function sameEvmAddress(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}
