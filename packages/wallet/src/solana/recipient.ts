import type { Account } from './solana-calls.ts'
import { readMint, readTokenAccount, token2022Program, tokenProgram } from './token-layout.ts'

const systemProgram = '11111111111111111111111111111111'

/**
 * Returns why a payment to this address would be lost; null if a wallet can receive it. `account`
 * is its current content. Pure.
 */
export function recipientFault(account: Account | null): string | null {
  if (account === null) return null
  if (account.executable) return 'the address is a program'
  if (account.owner === tokenProgram || account.owner === token2022Program) {
    const held = readTokenAccount(account.data)
    if (held !== null) return `the address is a token account; pay its owner ${held.owner} instead`
    return readMint(account.data) === null
      ? 'the address is not a wallet'
      : 'the address is a token, not a wallet'
  }
  if (account.owner !== systemProgram) return `the address belongs to the program ${account.owner}`
  return account.data.length === 0 ? null : 'the address is not a wallet'
}

/** Returns why this account could not receive a token; null if it can. Pure. */
export function tokenAccountFault(
  account: Account | null,
  { mint, owner, program }: { readonly mint: string; readonly owner: string; readonly program: string },
): string | null {
  if (account === null || account.data.length === 0) return null
  const held = account.owner === program ? readTokenAccount(account.data) : null
  if (held === null || held.mint !== mint)
    return 'another account uses the address of the recipient’s account of this token'
  if (held.owner !== owner) return `the recipient’s account of this token now belongs to ${held.owner}`
  return held.frozen ? 'the recipient’s account of this token is frozen' : null
}
