import { AccountRole } from '@solana/instructions'
import type { Instruction } from '@solana/instructions'
import type { Address } from '@solana/addresses'
import { address } from '@solana/addresses'
import { token2022Program } from './token-layout.ts'

/** The few instructions of a transfer, encoded for their programs. Little-endian; all functions are pure. */

const systemProgram = address('11111111111111111111111111111111')
const computeBudgetProgram = address('ComputeBudget111111111111111111111111111111')
export const associatedTokenProgram = address('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL')

const {
  WRITABLE_SIGNER: payer,
  WRITABLE: writable,
  READONLY: readonly,
  READONLY_SIGNER: signer,
} = AccountRole

/** Sets the maximum compute units of all instructions. */
export function computeLimit(units: number): Instruction {
  const data = Buffer.alloc(5)
  data.writeUInt8(2)
  data.writeUInt32LE(units, 1)
  return { programAddress: computeBudgetProgram, data }
}

/** Sets the priority fee for each compute unit. */
export function computePrice(microLamports: bigint): Instruction {
  const data = Buffer.alloc(9)
  data.writeUInt8(3)
  data.writeBigUInt64LE(microLamports, 1)
  return { programAddress: computeBudgetProgram, data }
}

export function transferCoin(from: Address, to: Address, lamports: bigint): Instruction {
  const data = Buffer.alloc(12)
  data.writeUInt32LE(2)
  data.writeBigUInt64LE(lamports, 4)
  return {
    programAddress: systemProgram,
    accounts: [
      { address: from, role: payer },
      { address: to, role: writable },
    ],
    data,
  }
}

/** A token, and the program that manages it. */
export interface Token {
  readonly program: Address
  readonly mint: Address
  readonly decimals: number
}

/** Creates the recipient's token account at the sender's cost; does nothing if it exists. */
export function createAccount(
  { program, mint }: Token,
  { from, owner, account }: { readonly from: Address; readonly owner: Address; readonly account: Address },
): Instruction {
  return {
    programAddress: associatedTokenProgram,
    accounts: [
      { address: from, role: payer },
      { address: account, role: writable },
      { address: owner, role: readonly },
      { address: mint, role: readonly },
      { address: systemProgram, role: readonly },
      { address: program, role: readonly },
    ],
    data: Buffer.of(1),
  }
}

/** Transfers a token. The program rejects the transfer if the mint has other decimals or, with `fee`, another fee. */
export function transferToken(
  { program, mint, decimals }: Token,
  { source, target, owner }: { readonly source: Address; readonly target: Address; readonly owner: Address },
  { raw, fee }: { readonly raw: bigint; readonly fee: bigint | null },
): Instruction {
  const head = fee === null ? [12] : [26, 1]
  const data = Buffer.alloc(head.length + 9 + (fee === null ? 0 : 8))
  data.set(head)
  data.writeBigUInt64LE(raw, head.length)
  data.writeUInt8(decimals, head.length + 8)
  if (fee !== null) {
    if (program !== token2022Program) throw new Error('this program keeps no fee')
    data.writeBigUInt64LE(fee, head.length + 9)
  }
  return {
    programAddress: program,
    accounts: [
      { address: source, role: writable },
      { address: mint, role: readonly },
      { address: target, role: writable },
      { address: owner, role: signer },
    ],
    data,
  }
}
