import { strongerRung } from '@flotilla/protocol/isolation'
import type { PermissionField, PermissionRecord } from '@flotilla/protocol/permission-record'
import { boundByFleet, walletLimitFields } from './effective-wallet-limits.ts'
import type { WalletLimitField } from './effective-wallet-limits.ts'

/**
 * The part of an agent's record that its parent has too, so that the agent never has more rights. Lists are compared
 * entry by entry: a broader pattern of the parent does not cover a narrower one, except for a lone `*`. Pure.
 */
export function withinParent(own: PermissionRecord, parent: PermissionRecord): PermissionRecord {
  return {
    can_message: common(own.can_message, parent.can_message),
    can_publish: common(own.can_publish, parent.can_publish),
    can_subscribe: common(own.can_subscribe, parent.can_subscribe),
    blackboard_read: common(own.blackboard_read, parent.blackboard_read),
    blackboard_write: common(own.blackboard_write, parent.blackboard_write),
    allowed_apis: common(own.allowed_apis, parent.allowed_apis),
    allowed_credentials: common(own.allowed_credentials, parent.allowed_credentials),
    can_use_browser: own.can_use_browser && parent.can_use_browser,
    browser_actions: commonActions(own.browser_actions, parent.browser_actions),
    can_manage_cron: own.can_manage_cron && parent.can_manage_cron,
    can_spawn: own.can_spawn && parent.can_spawn,
    can_use_wallet: own.can_use_wallet && parent.can_use_wallet,
    wallet_allowed_chains: common(own.wallet_allowed_chains, parent.wallet_allowed_chains),
    wallet_spend_limit_per_tx_usd: lower(
      own.wallet_spend_limit_per_tx_usd,
      parent.wallet_spend_limit_per_tx_usd,
    ),
    wallet_spend_limit_daily_usd: lower(
      own.wallet_spend_limit_daily_usd,
      parent.wallet_spend_limit_daily_usd,
    ),
    wallet_rate_limit_per_hour: lower(own.wallet_rate_limit_per_hour, parent.wallet_rate_limit_per_hour),
    wallet_allowed_contracts: common(own.wallet_allowed_contracts, parent.wallet_allowed_contracts),
    can_manage_fleet: own.can_manage_fleet && parent.can_manage_fleet,
    can_manage_projects: own.can_manage_projects && parent.can_manage_projects,
    can_edit_agent_config: own.can_edit_agent_config && parent.can_edit_agent_config,
    can_view_fleet_metrics: own.can_view_fleet_metrics && parent.can_view_fleet_metrics,
    can_route_tasks: own.can_route_tasks && parent.can_route_tasks,
    can_request_user_credentials: own.can_request_user_credentials && parent.can_request_user_credentials,
    required_isolation: strongerRung(own.required_isolation, parent.required_isolation),
  } satisfies Record<PermissionField, unknown>
}

function common(own: readonly string[], parent: readonly string[]): string[] {
  const allowed = new Set(parent)
  if (allowed.has('*')) return [...own]
  if (own.includes('*')) return [...parent]
  return own.filter((entry) => allowed.has(entry))
}

/** The browser actions that both allow; null means all actions. */
function commonActions(own: readonly string[] | null, parent: readonly string[] | null): string[] | null {
  if (own === null || parent === null) return own === null ? (parent === null ? null : [...parent]) : [...own]
  return common(own, parent)
}

/** 0 leaves a limit to the fleet; `boundByFleet` ensures that a parent's fleet limit applies as well. */
function lower(own: number, parent: number): number {
  if (own === 0 || parent === 0) return Math.max(own, parent)
  return Math.min(own, parent)
}

/** The maximum number of ancestors that are followed, above any allowed depth, to end at a cycle caused by a bug. */
const parentsMax = 16

/**
 * The effective record of an agent: its own, intersected with the current records of its parent and all
 * ancestors. Null if one of them has no record. Pure.
 */
export function boundedRecord(
  agentId: string,
  recordOf: (agentId: string) => PermissionRecord | undefined,
  parentOf: (agentId: string) => string | null,
): PermissionRecord | undefined {
  let record = recordOf(agentId)
  const own = record
  // Limits that are 0 for the agent or an ancestor: the fleet's limit applies, even if an ancestor has a higher one.
  const leftToFleet = new Set<WalletLimitField>(
    walletLimitFields.filter((field) => own !== undefined && own[field] === 0),
  )
  let parent = parentOf(agentId)
  for (let above = 0; record !== undefined && parent !== null; above++) {
    const bound = above < parentsMax ? recordOf(parent) : undefined
    if (bound === undefined) return undefined
    for (const field of walletLimitFields) if (bound[field] === 0) leftToFleet.add(field)
    record = withinParent(record, bound)
    parent = parentOf(parent)
  }
  return record === undefined ? undefined : boundByFleet(record, [...leftToFleet])
}
