import { isolationRungSchema, isWeaker } from '@flotilla/protocol/isolation'
import type { PermissionField, PermissionRecord } from '@flotilla/protocol/permission-record'
import { isPermissionField } from './permission-change.ts'

export type CeilingVerdict =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly field: string; readonly reason: string }

/** How far the operator may move a field of another agent's record. A field without a row does not compile. */
type Rule = 'free' | 'lower-only' | 'raise-only' | 'human-only'

const rules: Readonly<Record<PermissionField, Rule>> = {
  can_message: 'free',
  can_publish: 'free',
  can_subscribe: 'free',
  blackboard_read: 'free',
  blackboard_write: 'free',
  allowed_apis: 'lower-only',
  allowed_credentials: 'lower-only',
  // The operator may only withdraw this: a browser reaches the web, as `http` in allowed_apis does.
  can_use_browser: 'lower-only',
  browser_actions: 'lower-only',
  can_manage_cron: 'free',
  can_spawn: 'human-only',
  can_use_wallet: 'human-only',
  wallet_allowed_chains: 'lower-only',
  wallet_spend_limit_per_tx_usd: 'lower-only',
  wallet_spend_limit_daily_usd: 'lower-only',
  wallet_rate_limit_per_hour: 'lower-only',
  wallet_allowed_contracts: 'lower-only',
  can_manage_fleet: 'lower-only',
  can_manage_projects: 'lower-only',
  can_edit_agent_config: 'lower-only',
  can_view_fleet_metrics: 'lower-only',
  can_route_tasks: 'lower-only',
  can_request_user_credentials: 'lower-only',
  required_isolation: 'raise-only',
}

/**
 * Decides whether the operator may submit `change` for an agent whose record is `current`. Iterates over the
 * submitted keys, so that an unknown key is refused. Only a person can make a refused change, and it never
 * becomes a proposal. Pure.
 */
export function operatorMayChange(
  current: PermissionRecord,
  change: Readonly<Record<string, unknown>>,
): CeilingVerdict {
  for (const [name, value] of Object.entries(change)) {
    if (!isPermissionField(name))
      return { allowed: false, field: name, reason: 'no permission has this name' }
    const rule = rules[name]
    // Withdrawing a right is always below the ceiling, also for rights that only a person may give.
    if (rule === 'human-only' && value !== false) {
      return {
        allowed: false,
        field: name,
        reason:
          'only a person can grant this permission, at the terminal or in the dashboard and not in a chat',
      }
    }
    const isLower =
      name === 'browser_actions' ? isFewerActions(current[name], value) : isLowered(current[name], value)
    if (rule === 'lower-only' && !isLower) {
      return { allowed: false, field: name, reason: 'the operator may lower this limit but not raise it' }
    }
    if (rule === 'raise-only' && !isRaised(current.required_isolation, value)) {
      return { allowed: false, field: name, reason: 'the operator may raise this limit but not lower it' }
    }
  }
  return { allowed: true }
}

function isRaised(before: PermissionRecord['required_isolation'], after: unknown): boolean {
  const rung = isolationRungSchema.safeParse(after)
  return rung.success && !isWeaker(rung.data, before)
}

function isLowered(before: unknown, after: unknown): boolean {
  if (typeof after === 'boolean') return !after || before === true
  if (typeof after === 'number' && typeof before === 'number') {
    // 0 means the fleet's limit, which may be higher, so changing a limit to 0 does not count as lowering.
    return after === before || (after > 0 && before > 0 && after < before)
  }
  if (Array.isArray(after) && Array.isArray(before)) {
    const allowed = new Set<unknown>(before)
    return allowed.has('*') || after.every((entry) => allowed.has(entry))
  }
  return false
}

/** Whether `after` allows no further action of the browser; null allows every action, as `*` does. */
function isFewerActions(before: PermissionRecord['browser_actions'], after: unknown): boolean {
  return isLowered(before ?? ['*'], after ?? ['*'])
}
