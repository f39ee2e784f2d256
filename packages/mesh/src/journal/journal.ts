import type { JsonObject } from '@flotilla/protocol/json-value'

/** The append-only, hash-chained record of decisions and effects. */
export interface Journal {
  /** Written in the caller's transaction where there is one, so that an effect and its record stand or fall together. */
  append(entry: JournalEntry): void
}

export interface JournalEntry {
  /** `agent:x`, `human:cli`, `system`. */
  readonly actor: string
  /** noun.past-verb, e.g. `run.settled`, `permission.denied`. */
  readonly action: string
  /** Id of what it was done to. */
  readonly subject: string
  /** Names, numbers and digests; never a secret and never whole texts. */
  readonly detail: JsonObject
}
