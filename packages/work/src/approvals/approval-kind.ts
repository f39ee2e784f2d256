import type { ApprovalState } from '@flotilla/protocol/agent-edit'
import type { JsonObject } from '@flotilla/protocol/json-value'
import type { Action, PersonAtTerminal } from '@flotilla/identity/access'
import type { EffectDetails } from '@flotilla/identity/policy'

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
  /** Similar actions that were recently carried out or requested, one sentence for each. */
  readonly repeats?: readonly string[]
}

/** An effect that a rule of config/policy.yaml asked for. */
export interface PolicyEffect {
  readonly details: EffectDetails
  readonly rule: string
}

/** How a confirmed action is carried out. */
export interface ConfirmedLine {
  /** Throws the Problem `approval-expired` if the time limit of the approval has passed. */
  readonly requireInTime: () => void
  /** The run that the action is carried out for, the first that still waits; null if no run requested it. */
  readonly runId: string | null
}

/**
 * One kind of action that needs approval: who may request it, what it will do, and how it is carried out. New kinds
 * are added to the desk by the module that carries them out.
 */
export interface ApprovalKind {
  /** Returns the action that the requester must be permitted. */
  action(args: JsonObject): Action
  /** Returns the current description; throws a problem if the action is impossible. */
  describe(args: JsonObject): ApprovalWords
  /**
   * Carries the action out on behalf of the person who confirmed it, and returns a description of the result. If it
   * throws a Problem, the action has failed with that detail. `ifCutOff` says what a restarted mesh does with an
   * interrupted action. `carryOut` calls `line.requireInTime` right before an irreversible step if time passes before.
   */
  carryOut(person: PersonAtTerminal, args: JsonObject, line?: ConfirmedLine): Promise<string>
  readonly ifCutOff: 'again' | 'unknown'
  /** True if neither the confirmation nor a restarted mesh waits for the action, because it can take minutes. */
  readonly inBackground?: true
  /** For an interrupted action that may be repeated: returns a description if the action was completed; else null. */
  wasDone(args: JsonObject): string | null
  /**
   * Returns the effect as the owner's policy decides it, and the rule that asked; absent, or null, for an action that no
   * rule of the policy concerns.
   */
  policyEffect?(args: JsonObject): PolicyEffect | null
  /** Called in the transaction that decides the approval finally, with the state that it gets. */
  settled?(args: JsonObject, state: ApprovalState): void
}

export type ApprovalKinds = Readonly<Record<string, ApprovalKind>>
