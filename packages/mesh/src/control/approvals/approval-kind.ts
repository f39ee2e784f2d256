import type { JsonObject } from '@flotilla/protocol/json-value'
import type { Action, PersonAtTerminal } from '../../access/index.ts'

/** What a person has to decide, in words. */
export interface ApprovalWords {
  /** An agent's id or the like. */
  readonly subject: string
  /** One line. */
  readonly summary: string
  /** What will happen, a sentence each. */
  readonly consequences: readonly string[]
  /** What doing it costs by itself, a sentence. */
  readonly price: string
  /** What a person should know first: that the same was done or asked for lately, a sentence each. */
  readonly repeats?: readonly string[]
}

/** Throws the Problem `approval-expired` once the time of a confirmed approval is over. */
export type RequireInTime = () => void

/**
 * One kind of action that waits for a person: who may ask, what it will do, and how it is done. A new
 * one is a row of `control/approval-kinds.ts`.
 */
export interface ApprovalKind {
  /** What whoever asks must be allowed. */
  action(args: JsonObject): Action
  /** As it is now; throws a Problem where the action cannot be done at all. */
  describe(args: JsonObject): ApprovalWords
  /**
   * Does it, as the person who confirmed, and says in words what was done. A Problem ends it as failed, with its
   * detail. `ifCutOff` says what a mesh that died in the middle does with it at its next start. `requireInTime` is called
   * once more right before the first step that cannot be taken back, wherever time passes before it.
   */
  carryOut(person: PersonAtTerminal, args: JsonObject, requireInTime?: RequireInTime): Promise<string>
  readonly ifCutOff: 'again' | 'unknown'
  /** Of what was cut off and is to be done again: in words, that it was done to its end; else null. */
  wasDone(args: JsonObject): string | null
}

export type ApprovalKinds = Readonly<Record<string, ApprovalKind>>
