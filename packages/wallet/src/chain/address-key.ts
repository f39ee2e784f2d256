/** True if both texts are the same address. Pure. */
export function isSameAddress(one: string, other: string): boolean {
  return addressKey(one) === addressKey(other)
}

/** Returns the form for comparing addresses: case is ignored in hexadecimal and significant in base 58. Pure. */
export function addressKey(address: string): string {
  return address.startsWith('0x') ? address.toLowerCase() : address
}
