import { address, getAddressEncoder, getProgramDerivedAddress, isOffCurveAddress } from '@solana/addresses'
import type { Address } from '@solana/addresses'
import type { Instruction } from '@solana/instructions'
import { blockhash } from '@solana/rpc-types'
import {
  appendTransactionMessageInstructions,
  compileTransactionMessage,
  createTransactionMessage,
  getCompiledTransactionMessageEncoder,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
} from '@solana/transaction-messages'
import { associatedTokenProgram } from './instructions.ts'

/** The parts of @solana/kit that payments use; importing this file loads them. */

/** Maximum size of a message that fits into one packet with its signature. */
const messageMaxBytes = 1232 - 65
/** A placeholder until a blockhash is signed. */
const noHash = { blockhash: blockhash('1'.repeat(32)), lastValidBlockHeight: 0n }

/**
 * Returns the message that `from` alone signs, in the legacy format without address tables, so that
 * it lists all accounts.
 */
export function buildMessage(from: Address, instructions: readonly Instruction[]): Buffer {
  const empty = setTransactionMessageFeePayer(from, createTransactionMessage({ version: 'legacy' }))
  const placed = setTransactionMessageLifetimeUsingBlockhash(noHash, empty)
  const compiled = compileTransactionMessage(appendTransactionMessageInstructions(instructions, placed))
  const bytes = Buffer.from(getCompiledTransactionMessageEncoder().encode(compiled))
  if (bytes.length > messageMaxBytes) throw new Error('this message is longer than a packet')
  return bytes
}

/** Returns the associated token account: of a wallet's accounts for a token, the one that everyone can derive. */
export async function associatedAccount(owner: Address, program: Address, mint: Address): Promise<Address> {
  const { encode } = getAddressEncoder()
  const [found] = await getProgramDerivedAddress({
    programAddress: associatedTokenProgram,
    seeds: [encode(owner), encode(program), encode(mint)],
  })
  return found
}

/** True if a key can exist for the address. Addresses that programs derive have no key. */
export function hasKey(text: string): boolean {
  return !isOffCurveAddress(address(text))
}
