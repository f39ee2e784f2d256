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

/** What @solana/kit's parts do here; whoever imports this file loads them. */

/** Of bytes that take one packet, signature included. */
const messageMaxBytes = 1232 - 65
/** In the place of a blockhash until one is signed. */
const noHash = { blockhash: blockhash('1'.repeat(32)), lastValidBlockHeight: 0n }

/** The bytes that `from` alone signs, by the format without address tables: all accounts stand in it. */
export function buildMessage(from: Address, instructions: readonly Instruction[]): Buffer {
  const empty = setTransactionMessageFeePayer(from, createTransactionMessage({ version: 'legacy' }))
  const placed = setTransactionMessageLifetimeUsingBlockhash(noHash, empty)
  const compiled = compileTransactionMessage(appendTransactionMessageInstructions(instructions, placed))
  const bytes = Buffer.from(getCompiledTransactionMessageEncoder().encode(compiled))
  if (bytes.length > messageMaxBytes) throw new Error('this message is longer than a packet')
  return bytes
}

/** Where a wallet keeps a token: the one account of it that everybody finds. */
export async function associatedAccount(owner: Address, program: Address, mint: Address): Promise<Address> {
  const { encode } = getAddressEncoder()
  const [found] = await getProgramDerivedAddress({
    programAddress: associatedTokenProgram,
    seeds: [encode(owner), encode(program), encode(mint)],
  })
  return found
}

/** Whether there can be a key for it: programs' own accounts have none. */
export function hasKey(text: string): boolean {
  return !isOffCurveAddress(address(text))
}
