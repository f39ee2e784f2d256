import type { AgentEdit } from '@flotilla/protocol/agent-edit'
import type { JsonValue } from '@flotilla/protocol/json-value'
import type { Caller } from '@flotilla/identity/access'

/** The fields that only an owner among people may change; part of the checked action. Pure. */
export function ownersPart(field: string): { readonly what?: 'permissions' | 'MCP servers' } {
  if (field === 'permissions') return { what: 'permissions' }
  return field === 'mcpServers' ? { what: 'MCP servers' } : {}
}

/** The value before an edit and the value after it. */
export interface Difference {
  readonly before: JsonValue
  readonly after: JsonValue
}

/** An edit that is being applied. */
export interface Applying<Edit extends AgentEdit = AgentEdit> {
  readonly agentId: string
  readonly edit: Edit
  /**
   * Called with both values before the write, and again if the edit restarts. Throws the Problem `outcome-unknown`
   * for an interrupted edit if the current value is neither of them.
   */
  readonly begin: (difference: Difference) => void
}

/** The remaining row writes after files are written, in the transaction of the change's own row. */
export type WriteRows = () => TakesEffect

/** One field of an agent, as edits and undoing see it. */
export interface Editable<Edit extends AgentEdit = AgentEdit> {
  /**
   * Applies the change: files before it resolves, rows in the function that it resolves to. Problems of the field,
   * `human-only` above the caller's ceiling.
   */
  apply(caller: Caller, applying: Applying<Edit>): Promise<WriteRows>
  /**
   * Restores `before` if the current value is still `after`; like `apply`, it changes files first and returns the
   * function that changes rows. Problems `undo-overtaken` with both values, `human-only`.
   */
  putBack(caller: Caller, change: PuttingBack): Promise<WriteRows>
}

export interface PuttingBack extends Difference {
  readonly agentId: string
  /** True if an earlier call was interrupted, which may have restored `before` already. */
  readonly isResumed: boolean
}

export type TakesEffect = 'now' | 'next-run'
