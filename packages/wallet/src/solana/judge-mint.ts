import type { Mint } from './token-layout.ts'

export type MintVerdict =
  | { readonly refused: string }
  | {
      readonly refused: null
      /** What the person who approves a payment should know about the token. */
      readonly warnings: readonly string[]
      /** Returns the amount that the program keeps back, in base units; null if the token has no fee. */
      readonly feeOf: ((raw: bigint) => bigint) | null
    }

/**
 * Accepted extensions by their Token-2022 number. Others are refused because their effect on money was not
 * reviewed.
 */
const fine = {
  1: 'transfer fee',
  3: 'close authority',
  4: 'confidential transfers',
  16: 'fees of confidential transfers',
  18: 'metadata pointer',
  19: 'metadata',
  20: 'group pointer',
  21: 'group',
  22: 'member pointer',
  23: 'group member',
} as const satisfies Readonly<Record<number, string>>

const refusals: Readonly<Record<number, string>> = {
  9: 'the token cannot be transferred at all',
  10: 'the token bears interest, so the amount that people see is not the amount that moves',
  24: 'the amounts of the token are hidden',
  25: 'the token is scaled, so the amount that people see is not the amount that moves',
}

const extension = { transferFee: 1, defaultState: 6, permanentDelegate: 12, transferHook: 14, pausable: 26 }
const bpsWhole = 10_000n

/**
 * Decides whether this wallet pays with a token, by the powers that its mint grants. `epoch` is the
 * epoch in which the payment lands, because fees change with epochs. Pure.
 */
export function judgeMint(mint: Mint, epoch: bigint): MintVerdict {
  const warnings = mint.canFreeze ? ['the issuer of the token can freeze all holdings'] : []
  for (const [number, data] of mint.extensions) {
    const refusal = refusals[number]
    if (refusal !== undefined) return { refused: refusal }
    if (number in fine) continue
    if (number === extension.permanentDelegate) {
      if (isSomebody(data, 0))
        warnings.push('the issuer of the token can take it out of any account at any time')
    } else if (number === extension.transferHook) {
      if (isSomebody(data, 32)) return { refused: 'an unknown program runs with every transfer of the token' }
    } else if (number === extension.defaultState) {
      if (data[0] !== 1) warnings.push('accounts of the token are frozen until its issuer opens them')
    } else if (number === extension.pausable) {
      warnings.push('the issuer of the token can stop all transfers')
    } else return { refused: `the token has an unsupported rule (extension ${number})` }
  }
  const fee = mint.extensions.get(extension.transferFee)
  if (fee === undefined) return { refused: null, warnings, feeOf: null }
  if (fee.length !== 108) return { refused: 'the fee rule of the token cannot be read' }
  const at = epoch >= fee.readBigUInt64LE(90) ? 90 : 72
  const maximum = fee.readBigUInt64LE(at + 8)
  const bps = BigInt(fee.readUInt16LE(at + 16))
  if (bps > bpsWhole) return { refused: 'the fee rule of the token cannot be read' }
  return { refused: null, warnings, feeOf: (raw) => feeOf(raw, { maximum, bps }) }
}

/** Returns the fee that the program keeps back, rounded up as the program does. */
function feeOf(raw: bigint, { maximum, bps }: { readonly maximum: bigint; readonly bps: bigint }): bigint {
  const fee = (raw * bps + bpsWhole - 1n) / bpsWhole
  return fee < maximum ? fee : maximum
}

/** True if 32 bytes name an account; all zeros name no account. Truncated data counts as named. */
function isSomebody(data: Buffer, at: number): boolean {
  return data.length < at + 32 || data.subarray(at, at + 32).some((byte) => byte !== 0)
}
