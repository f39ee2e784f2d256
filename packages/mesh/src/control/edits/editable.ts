import type { AgentEdit } from '@flotilla/protocol/agent-edit'
import type { JsonValue } from '@flotilla/protocol/json-value'
import type { Caller } from '../../access/index.ts'

/** What of all people an owner alone changes; part of the action that is asked for. Pure. */
export function ownersPart(field: string): { readonly what?: 'permissions' | 'MCP servers' } {
  if (field === 'permissions') return { what: 'permissions' }
  return field === 'mcpServers' ? { what: 'MCP servers' } : {}
}

/** What an edit found, and what it makes of it. */
export interface Difference {
  readonly before: JsonValue
  readonly after: JsonValue
}

/** An edit under way. */
export interface Applying<Edit extends AgentEdit = AgentEdit> {
  readonly agentId: string
  readonly edit: Edit
  /**
   * Told what was found and will be written, before it is written; again where it starts again. Throws the Problem
   * `outcome-unknown` for an edit that was cut off, where neither stands there any more.
   */
  readonly begin: (difference: Difference) => void
}

/** What is left to write when files are as they shall be: rows, in the transaction of the change's own row. */
export type WriteRows = () => TakesEffect

/** One field of an agent, as edits and undoing see it. */
export interface Editable<Edit extends AgentEdit = AgentEdit> {
  /**
   * Makes the change: what is a file before it resolves, what is a row in what it resolves to. Problems of the field,
   * `human-only` where it is above the caller's ceiling.
   */
  apply(caller: Caller, applying: Applying<Edit>): Promise<WriteRows>
  /**
   * Puts `before` back where `after` still stands, in the same two parts. Problems `undo-overtaken` with both values,
   * `human-only`.
   */
  putBack(caller: Caller, change: PuttingBack): Promise<WriteRows>
}

export interface PuttingBack extends Difference {
  readonly agentId: string
  /** The call was cut off before: `before` may stand there already. */
  readonly isResumed: boolean
}

export type TakesEffect = 'now' | 'next-run'
