import type { JsonObject } from '@flotilla/protocol/json-value'

/** The append-only, hash-chained record of decisions and effects. */
export interface Journal {
  /**
   * Joins the caller's transaction if there is one, so that an effect and its record are both committed or
   * neither.
   */
  append(entry: JournalEntry): void
}

export interface JournalEntry {
  /** `agent:x`, `human:cli`, `system`. */
  readonly actor: string
  /** noun.past-verb, e.g. `run.settled`, `permission.denied`. */
  readonly action: string
  /** Id of the object of the action. */
  readonly subject: string
  /** Contains names, numbers and digests; never a secret and never whole texts. */
  readonly detail: JsonObject
}
