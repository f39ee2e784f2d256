import type { Caller } from './caller.ts'

/** Everything a caller can be allowed or refused. `authorize.ts` decides each; a new one must be decided to compile. */
export type Action =
  | { readonly do: 'message-agent'; readonly to: string }
  | { readonly do: 'read-blackboard'; readonly key: string }
  | { readonly do: 'write-blackboard'; readonly key: string }
  /** `llm`, `http` and later ones; the agent's `allowed_apis` names them. */
  | { readonly do: 'call-api'; readonly api: string }
  /** A credential of the agent tier, by the name in its handle. Those of the mesh have no name that could stand here. */
  | { readonly do: 'use-credential'; readonly name: string }
  | { readonly do: 'request-credential' }
  /** Store, bind and remove credentials: the owner alone. */
  | { readonly do: 'manage-credentials' }
  | { readonly do: 'list-agents' }
  /** Lease, inbox, completing one's own task, artifacts, notes to the owner: what every agent may do for itself. */
  | { readonly do: 'act-for-self'; readonly agentId: string }
  /** Put work into an agent's lane from a people's door or as the mesh. */
  | { readonly do: 'submit-run'; readonly to: string }
  /** Say something to an agent that works; `gave` when the work that it does was given by the caller. */
  | { readonly do: 'steer-agent'; readonly to: string; readonly gave: boolean }
  | { readonly do: 'view-fleet' }
  | { readonly do: 'manage-fleet' }

export type Decision =
  | { readonly allowed: true }
  | {
      readonly allowed: false
      /** In words for the caller. */
      readonly reason: string
      /** The field of the permission record that would allow it, when one would. */
      readonly field: string | null
    }

/** First statement of every use case: returns, or throws the Problem `denied` after counting and journalling it. */
export type Guard = (caller: Caller, action: Action) => void
