import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import type { WalletSpend } from './action.ts'

export const walletLimitFields = [
  'wallet_spend_limit_per_tx_usd',
  'wallet_spend_limit_daily_usd',
  'wallet_rate_limit_per_hour',
] as const
export type WalletLimitField = (typeof walletLimitFields)[number]

/**
 * Marks a record in which the agent or an ancestor leaves limits to the fleet: then the fleet's limits apply too. The
 * symbol is not enumerable, so files, copies and replies do not contain it.
 */
const underFleet = Symbol('underFleet')
type MarkedRecord = PermissionRecord & { readonly [underFleet]?: readonly WalletLimitField[] }

/** Marks the record with the limits that the agent or an ancestor leaves to the fleet. */
export function boundByFleet(
  record: PermissionRecord,
  fields: readonly WalletLimitField[],
): PermissionRecord {
  return fields.length === 0 ? record : Object.defineProperty({ ...record }, underFleet, { value: fields })
}

/**
 * The effective limits: the record's own, or the fleet's if that is 0, and never above the fleet's if an ancestor has
 * no other. 0 for no limit. Pure.
 */
export function effectiveWalletLimits(
  record: MarkedRecord,
  fleet: WalletSpend['fleet'],
): Readonly<Record<WalletLimitField, number>> {
  const limitOf = (field: WalletLimitField, ofFleet: number): number => {
    const own = record[field]
    if (own === 0) return ofFleet
    const isBound = ofFleet > 0 && record[underFleet]?.includes(field) === true
    return isBound ? Math.min(own, ofFleet) : own
  }
  return {
    wallet_spend_limit_per_tx_usd: limitOf('wallet_spend_limit_per_tx_usd', fleet.perTxUsd),
    wallet_spend_limit_daily_usd: limitOf('wallet_spend_limit_daily_usd', fleet.dailyUsd),
    wallet_rate_limit_per_hour: limitOf('wallet_rate_limit_per_hour', fleet.perHour),
  }
}
