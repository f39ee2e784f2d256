import type { PermissionField } from '@flotilla/protocol/permission-record'

/** Explains each permission to a first-time reader. */
export const permissionWords: Readonly<Record<PermissionField, string>> = {
  can_message: 'agents that it may ask and give tasks to',
  can_publish: 'topics that it may speak on',
  can_subscribe: 'topics that it may subscribe to',
  blackboard_read: 'keys of the blackboard that it may read',
  blackboard_write: 'keys of the blackboard that it may write',
  allowed_apis: 'services of the mesh that it may call, such as llm, http and web_search',
  allowed_credentials: 'credentials that it may use, and never sees',
  can_use_browser: 'it may use a browser',
  browser_actions: 'what it may do in a browser',
  can_manage_cron: 'it may create scheduled jobs',
  can_spawn: 'it may make agents for single tasks',
  can_use_wallet: 'it may use the wallet',
  wallet_allowed_chains: 'chains that it may pay on',
  wallet_spend_limit_per_tx_usd: 'US dollars at most for one payment',
  wallet_spend_limit_daily_usd: 'US dollars at most for all payments of a day',
  wallet_rate_limit_per_hour: 'payments an hour',
  wallet_allowed_contracts: 'contracts that it may call',
  can_manage_fleet: 'it may create, archive and restart agents',
  can_manage_projects: 'it may create projects and choose their members',
  can_edit_agent_config: 'it may change how other agents are set up',
  can_view_fleet_metrics: 'it may see what the fleet does and costs',
  can_route_tasks: 'it may send tasks of others to another agent',
  can_request_user_credentials: 'it may ask you for credentials',
  required_isolation: 'the lowest isolation level at which it may run',
}

/** The plain name of each permission. */
export const permissionTitles: Readonly<Record<PermissionField, string>> = {
  can_message: 'Ask agents',
  can_publish: 'Speak on topics',
  can_subscribe: 'Subscribe to topics',
  blackboard_read: 'Read the blackboard',
  blackboard_write: 'Write the blackboard',
  allowed_apis: 'Use services of the mesh',
  allowed_credentials: 'Use credentials',
  can_use_browser: 'Use a browser',
  browser_actions: 'Actions in the browser',
  can_manage_cron: 'Schedule jobs',
  can_spawn: 'Make helpers',
  can_use_wallet: 'Pay from the wallet',
  wallet_allowed_chains: 'Chains to pay on',
  wallet_spend_limit_per_tx_usd: 'Most for one payment',
  wallet_spend_limit_daily_usd: 'Most for a day of payments',
  wallet_rate_limit_per_hour: 'Payments an hour',
  wallet_allowed_contracts: 'Contracts to call',
  can_manage_fleet: 'Manage agents',
  can_manage_projects: 'Manage projects',
  can_edit_agent_config: 'Change other agents',
  can_view_fleet_metrics: 'See the fleet and its costs',
  can_route_tasks: 'Route tasks',
  can_request_user_credentials: 'Ask you for credentials',
  required_isolation: 'Lowest isolation',
}

/** Names the pattern that matches everything. */
function patternWords(pattern: unknown): string {
  return pattern === '*' ? 'all' : String(pattern)
}

/** Formats the value of a permission for people. Pure. */
export function permissionValue(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'nothing' : value.map(patternWords).join(', ')
  if (value === true) return 'yes'
  if (value === false) return 'no'
  if (value === null) return 'all that are known'
  return typeof value === 'string' ? value : JSON.stringify(value)
}
