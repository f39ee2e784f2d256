import type { BrowserAction } from './browser-service-api.ts'
import { browserActionNames, browserToolName } from './browser-actions.ts'

/** What a permission record must allow for a tool to be useful: an API, a browser action, or `field` and `flag`. */
export type ToolNeed =
  | { readonly api: string }
  /** An action in the browser. */
  | { readonly browser: BrowserAction }
  | {
      readonly field:
        | 'can_message'
        | 'can_publish'
        | 'can_subscribe'
        | 'blackboard_read'
        | 'blackboard_write'
        | 'allowed_credentials'
        | 'can_request_user_credentials'
        | 'can_manage_cron'
        | 'can_spawn'
        | 'can_use_wallet'
        | 'can_manage_projects'
      readonly flag?: 'can_route_tasks'
      /** With this permission, neither `field` nor `flag` is required. */
      readonly or?: 'can_spawn'
    }

/**
 * Tools that a permission record can make useless. By this one table the mesh reports which tools it would deny, and
 * an agent does not offer those to its model; the mesh still checks each call. Every agent has the tools that are not
 * listed.
 */
export const toolNeeds = {
  http_request: { api: 'http' },
  web_search: { api: 'web_search' },
  hand_off: { field: 'can_message', flag: 'can_route_tasks' },
  review_task: { field: 'can_message', flag: 'can_route_tasks' },
  // An agent that spawned another one also answers the spawned agent's questions.
  manage_task: { field: 'can_message', flag: 'can_route_tasks', or: 'can_spawn' },
  steer_agent: { field: 'can_message' },
  message_agent: { field: 'can_message' },
  publish_signal: { field: 'can_publish' },
  subscribe_topic: { field: 'can_subscribe' },
  unsubscribe_topic: { field: 'can_subscribe' },
  read_signals: { field: 'can_subscribe' },
  read_blackboard: { field: 'blackboard_read' },
  list_blackboard: { field: 'blackboard_read' },
  write_blackboard: { field: 'blackboard_write' },
  vault_generate_secret: { field: 'allowed_credentials' },
  inspect_projects: { field: 'can_manage_projects' },
  manage_project: { field: 'can_manage_projects' },
  write_project: { field: 'can_manage_projects' },
  watch_blackboard: { field: 'blackboard_read' },
  set_cron: { field: 'can_manage_cron' },
  remove_cron: { field: 'can_manage_cron' },
  wallet_address: { field: 'can_use_wallet' },
  wallet_balance: { field: 'can_use_wallet' },
  wallet_read_contract: { field: 'can_use_wallet' },
  wallet_simulate: { field: 'can_use_wallet' },
  wallet_transfer: { field: 'can_use_wallet' },
  wallet_execute: { field: 'can_use_wallet' },
  wallet_payments: { field: 'can_use_wallet' },
  spawn_fleet_agent: { field: 'can_spawn' },
  request_credential: { field: 'can_request_user_credentials' },
  ...browserNeeds(),
} as const satisfies Readonly<Record<string, ToolNeed>>

function browserNeeds(): Readonly<Record<`browser_${BrowserAction}`, ToolNeed>> {
  const needs = browserActionNames.map((action) => [browserToolName(action), { browser: action }] as const)
  return Object.fromEntries(needs) as Record<`browser_${BrowserAction}`, ToolNeed> // of each action one
}
