import type { PersonRole } from '@flotilla/protocol/people'
import type { PermissionField } from '@flotilla/protocol/permission-record'
import type { Caller } from './caller.ts'

/**
 * Every action that the mesh authorizes. `authorize.ts` decides each one; a new action must be decided there to
 * compile.
 */
export type Action =
  | { readonly do: 'message-agent'; readonly to: string }
  | { readonly do: 'publish-topic'; readonly topic: string }
  | { readonly do: 'subscribe-topic'; readonly topic: string }
  | { readonly do: 'read-blackboard'; readonly key: string }
  | { readonly do: 'write-blackboard'; readonly key: string }
  /** `llm`, `http` and later ones; the agent's `allowed_apis` names them. */
  | { readonly do: 'call-api'; readonly api: string }
  /** A credential of the agent tier, by the name in its handle. System credentials have no such name. */
  | { readonly do: 'use-credential'; readonly name: string }
  | { readonly do: 'use-browser'; readonly browserAction: string }
  | { readonly do: 'manage-cron' }
  | { readonly do: 'spawn-agent' }
  /** Read addresses and balances; `contract` if a contract is queried, also a token's. */
  | { readonly do: 'use-wallet'; readonly chain: string; readonly contract?: string }
  | WalletSpend
  /** Create agents and apply templates. */
  | { readonly do: 'manage-fleet' }
  /** Restart, stop or delete that agent; an agent may not do so to itself. */
  | { readonly do: 'manage-agent'; readonly agentId: string }
  /** Change a project's texts, members and budget; the named project, or any if none is named. */
  | { readonly do: 'manage-projects'; readonly project?: string }
  /** Change texts, model, budget or permissions of another agent, never one's own; `what` only as an owner. */
  | {
      readonly do: 'edit-agent-config'
      readonly agentId: string
      readonly what?: 'permissions' | 'MCP servers'
    }
  | { readonly do: 'view-fleet' }
  /** Give work to other agents; `message-agent` decides which agents the caller may give work to. */
  | { readonly do: 'route-tasks' }
  | { readonly do: 'request-credential' }
  /** Store, bind and remove credentials: the owner alone. */
  | { readonly do: 'manage-credentials' }
  /** Pause or resume all work that triggers start: only the owner may. */
  | { readonly do: 'pause-work' }
  /** Read everything that an agent keeps, for a backup: this machine's own programs alone. */
  | { readonly do: 'back-up' }
  /** View webhooks, replay deliveries and rotate secrets: people at the terminal or the dashboard. */
  | { readonly do: 'manage-webhooks' }
  /** Create, change, test and delete webhooks: people at the terminal or the dashboard. */
  | { readonly do: 'make-webhooks' }
  /** Add, change and remove people and their tokens: an owner alone. */
  | { readonly do: 'manage-people' }
  /** Use a route of the people's API; null if the route states no role. */
  | { readonly do: 'call-route'; readonly role: PersonRole | null }
  | { readonly do: 'list-agents' }
  /** What every agent may do for itself: lease, inbox, completing its own task, artifacts and notes to the owner. */
  | { readonly do: 'act-for-self'; readonly agentId: string }
  /** Put work into an agent's lane from a people's API or as the mesh. */
  | { readonly do: 'submit-run'; readonly to: string }
  /** Send a message to a working agent; `gave` if the caller gave that agent the work. */
  | { readonly do: 'steer-agent'; readonly to: string; readonly gave: boolean }

/** Transfer money. The wallet sums up earlier spending itself, in the same critical section as this decision. */
export interface WalletSpend {
  readonly do: 'spend-from-wallet'
  readonly chain: string
  /** The called contract; null for a plain transfer. */
  readonly contract: string | null
  readonly valueUsd: number
  readonly spentTodayUsd: number
  readonly spendsLastHour: number
  /**
   * The agent's parent and all further ancestors, each with the amount that it and its descendants spent; their
   * limits apply too.
   */
  readonly makers: readonly {
    readonly agentId: string
    readonly spentTodayUsd: number
    readonly spendsLastHour: number
  }[]
  /** The fleet's limits, which apply if a limit of the record is 0; 0 for none. */
  readonly fleet: { readonly perTxUsd: number; readonly dailyUsd: number; readonly perHour: number }
}

export type Decision =
  | {
      readonly allowed: true
      /** The field of the permission record that allows the action; absent if no field is checked. */
      readonly field?: PermissionField
      /** Index of the matching entry of a list field. */
      readonly entry?: number
    }
  | {
      readonly allowed: false
      /** The reason as text for the caller. */
      readonly reason: string
      /** The field of the permission record that could allow the action; null if no field could. */
      readonly field: PermissionField | null
    }

/** First statement of every use case: returns, or throws the Problem `denied` after counting and journaling it. */
export type Guard = (caller: Caller, action: Action) => void
