import type { JsonObject } from '@flotilla/protocol/json-value'
import type { Action, PersonAtTerminal } from '@flotilla/identity/access'

/** A description of the action for the person who decides. */
export interface ApprovalWords {
  /** An agent's id or the like. */
  readonly subject: string
  /** One line. */
  readonly summary: string
  /** What will happen, one sentence each. */
  readonly consequences: readonly string[]
  /** The direct cost of the action, as a sentence. */
  readonly price: string
  /** Similar actions that were recently done or requested, a sentence each. */
  readonly repeats?: readonly string[]
}

/** Throws the Problem `approval-expired` once the time of a confirmed approval is over. */
export type RequireInTime = () => void

/**
 * One kind of action that needs approval: who may request it, what it will do, and how it is carried out. New kinds are
 * added to the desk by the module that carries them out.
 */
export interface ApprovalKind {
  /** The action that the requester must be allowed. */
  action(args: JsonObject): Action
  /** The current description; throws a problem if the action is impossible. */
  describe(args: JsonObject): ApprovalWords
  /**
   * Carries the action out on behalf of the person who confirmed it, and returns a description of the result. A Problem
   * ends it as failed, with its detail. `ifCutOff` says what a restarted mesh does with an interrupted action.
   * `requireInTime` is called again right before the first irreversible step, wherever time passes before it.
   */
  carryOut(person: PersonAtTerminal, args: JsonObject, requireInTime?: RequireInTime): Promise<string>
  readonly ifCutOff: 'again' | 'unknown'
  /** For an interrupted action that may be repeated: a description if it was completed; else null. */
  wasDone(args: JsonObject): string | null
}

export type ApprovalKinds = Readonly<Record<string, ApprovalKind>>
