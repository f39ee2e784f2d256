import type { AgentEdit } from '@flotilla/protocol/agent-edit'
import type { JsonValue } from '@flotilla/protocol/json-value'
import type { Caller } from '../policy/caller.ts'

/** What an edit found, and what it makes of it. */
export interface Difference {
  readonly before: JsonValue
  readonly after: JsonValue
}

/** An edit under way. */
export interface Applying<Edit extends AgentEdit = AgentEdit> {
  readonly agentId: string
  readonly edit: Edit
  /** Told what was found and will be written, before it is written; again where it starts again. */
  readonly begin: (difference: Difference) => void
}

/** One field of an agent, as edits and undoing see it. */
export interface Editable<Edit extends AgentEdit = AgentEdit> {
  /** Makes the change. Problems of the field, `human-only` where it is above the caller's ceiling. */
  apply(caller: Caller, applying: Applying<Edit>): Promise<TakesEffect>
  /** Puts `before` back where `after` still stands. Problems `undo-overtaken` with both values, `human-only`. */
  putBack(caller: Caller, change: Difference & { readonly agentId: string }): Promise<TakesEffect>
}

export type TakesEffect = 'now' | 'next-run'
