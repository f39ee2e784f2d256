/**
 * Marks an amount of which a part is only reserved, because a call broke off and its real usage is unknown: at most this
 * was used. Pure.
 */
export function upTo(amount: string, unconfirmed: number): string {
  return unconfirmed > 0 ? `up to ${amount}` : amount
}
