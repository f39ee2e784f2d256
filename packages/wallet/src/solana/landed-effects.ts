import type { Effects } from '../chain/paying-chain.ts'
import type { TransactionRecord } from './solana-calls.ts'

/** Returns a transaction's effects on its payer, without the fee; null without a usable record of it. Pure. */
export function landedEffects(record: TransactionRecord | null, payer: string): Effects | null {
  if (record === null || record.meta === null) return null
  const { meta, transaction } = record
  if (transaction.message.accountKeys[0] !== payer) return null
  const [before, after] = [meta.preBalances[0], meta.postBalances[0]]
  if (before === undefined || after === undefined) return null
  const changes = new Map<string | null, bigint>([[null, after - before + meta.fee]])
  const add = (holdings: typeof meta.preTokenBalances, sign: bigint): void => {
    for (const { mint, owner, uiTokenAmount } of holdings ?? []) {
      if (owner === payer) changes.set(mint, (changes.get(mint) ?? 0n) + sign * uiTokenAmount.amount)
    }
  }
  add(meta.preTokenBalances, -1n)
  add(meta.postTokenBalances, 1n)
  return {
    changes: [...changes].map(([asset, raw]) => ({ asset, raw })).filter(({ raw }) => raw !== 0n),
    payees: [],
    grants: [],
  }
}
