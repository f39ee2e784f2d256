import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import type { Decision, WalletSpend } from './action.ts'
import { byFlag, byList, byName, denied } from './field-decisions.ts'
import { effectiveWalletLimits } from './effective-wallet-limits.ts'

/** Decides whether the agent may read from this chain and this contract. Pure. */
export function decideWalletUse(
  record: PermissionRecord,
  { chain, contract = null }: { readonly chain: string; readonly contract?: string | null },
): Decision {
  const flag = byFlag(record, 'can_use_wallet')
  if (!flag.allowed) return flag
  const listed = byName(record, 'wallet_allowed_chains', chain)
  if (!listed.allowed) return listed
  if (contract === null) return flag
  const named = byList(record, 'wallet_allowed_contracts', {
    matches: (entry) => entry === '*' || sameAddress(entry, contract),
    otherwise: `wallet_allowed_contracts does not list ${contract}`,
  })
  return named.allowed ? flag : named
}

/**
 * Decides whether the agent may spend this. Every limit of the record must hold; 0 means the fleet's limit. A value
 * that is not a number is refused, because no limit would apply. Pure.
 */
export function decideWalletSpend(record: PermissionRecord, spend: WalletSpend): Decision {
  const use = decideWalletUse(record, spend)
  if (!use.allowed) return use
  const { valueUsd, spentTodayUsd } = spend
  if (!(Number.isFinite(valueUsd) && valueUsd >= 0 && spentTodayUsd >= 0)) {
    return denied(
      'the value of this transfer in US dollars is unknown, so the limits cannot be checked',
      null,
    )
  }
  return beyondLimit(record, spend) ?? use
}

/**
 * Checks a payment against the limits of the agent's ancestors, each with what it and all its descendants spent, so
 * that several children together spend at most what their maker may. Null if no ancestor's limit refuses. Pure.
 */
export function decideMakersSpend(
  recordOf: (agentId: string) => PermissionRecord | undefined,
  spend: WalletSpend,
): Decision | null {
  for (const { agentId, ...spent } of spend.makers) {
    const record = recordOf(agentId)
    if (record === undefined) return denied(`its maker ${agentId} has no permission record`, null)
    const beyond = beyondLimit(record, { ...spend, ...spent }, `${agentId} and the agents it made`)
    if (beyond !== null) return beyond
  }
  return null
}

/** The denial for the first limit that the payment would exceed; `holder` names the agents that share the limit. */
function beyondLimit(
  record: PermissionRecord,
  { valueUsd, spentTodayUsd, spendsLastHour, fleet }: WalletSpend,
  holder: string | null = null,
): Decision | null {
  const by = holder === null ? '' : ` by ${holder}`
  const limits = effectiveWalletLimits(record, fleet)
  const perTransfer = limits.wallet_spend_limit_per_tx_usd
  if (perTransfer > 0 && micro(valueUsd) > micro(perTransfer)) {
    return denied(
      `wallet_spend_limit_per_tx_usd: the limit is ${perTransfer} US dollars for one transfer${by}, and this transfer counts for ${valueUsd}`,
      'wallet_spend_limit_per_tx_usd',
    )
  }
  const daily = limits.wallet_spend_limit_daily_usd
  if (daily > 0 && micro(spentTodayUsd) + micro(valueUsd) > micro(daily)) {
    return denied(
      `wallet_spend_limit_daily_usd: the limit is ${daily} US dollars a day${by}, ${spentTodayUsd} are spent today, and this transfer counts for ${valueUsd}`,
      'wallet_spend_limit_daily_usd',
    )
  }
  const hourly = limits.wallet_rate_limit_per_hour
  if (hourly > 0 && spendsLastHour >= hourly) {
    return denied(
      `wallet_rate_limit_per_hour: the limit is ${hourly} transfers an hour${by}, and ${spendsLastHour} were made in the last hour`,
      'wallet_rate_limit_per_hour',
    )
  }
  return null
}

/** Rounds to millionths of a dollar, because rounding errors of floats must not decide. */
function micro(usd: number): number {
  return Math.round(usd * 1_000_000)
}

/** Compares hexadecimal addresses without case, which only carries their checksum; other addresses exactly. */
function sameAddress(one: string, other: string): boolean {
  const hexadecimal = /^0x[0-9a-f]+$/i
  return hexadecimal.test(one) && hexadecimal.test(other)
    ? one.toLowerCase() === other.toLowerCase()
    : one === other
}
