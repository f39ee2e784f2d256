import type { PeopleEndpointName } from '@flotilla/client/people-api'

/** An action on several things at once. */
export interface BulkAction<Item> {
  /** The label, such as `Archive`. */
  readonly name: string
  /** How the result is reported, such as `archived`. */
  readonly past: string
  /** The call that the action makes for each item, which decides who may do it. */
  readonly call: PeopleEndpointName
  /** Says what happens, and whether it can be undone. */
  readonly effect: string
  readonly danger?: boolean
  /** Returns why the action does not apply to the item now; null if it does. */
  readonly why: (item: Item) => string | null
  /** Makes the call. Rejects if the action was not done for the item, also if the mesh answered without an error. */
  readonly run: (item: Item) => Promise<unknown>
  /** Absent if the action cannot be undone. */
  readonly undo?: {
    readonly call: PeopleEndpointName
    readonly past: string
    readonly run: (item: Item) => Promise<unknown>
  }
}

/** Something in a list of which several can be chosen. */
export interface BulkItem {
  readonly id: string
  readonly title: string
  /** A second line, such as its state. */
  readonly detail: string
  /** Sentences that a person must read before an action, each a point of a list. */
  readonly points?: readonly string[]
  /** The agent that a call for the item concerns. */
  readonly agent?: string
}

/** Divides the chosen items into those to which an action applies, and those to which it does not. Pure. */
export function applicable<Item>(
  chosen: readonly Item[],
  why: (item: Item) => string | null,
): { readonly applies: readonly Item[]; readonly others: readonly Item[] } {
  return {
    applies: chosen.filter((item) => why(item) === null),
    others: chosen.filter((item) => why(item) !== null),
  }
}
