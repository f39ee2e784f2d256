/** True if both texts are the same address. Pure. */
export function isSameAddress(one: string, other: string): boolean {
  return addressKey(one) === addressKey(other)
}

/**
 * The form in which addresses are compared: case is irrelevant in hexadecimal and significant in base 58. Pure.
 */
export function addressKey(address: string): string {
  return address.startsWith('0x') ? address.toLowerCase() : address
}
