import { Problem } from '@flotilla/protocol/problem'

/** Returns the Problem of an answer that cannot be parsed: a failure of the provider, never an empty answer. Pure. */
export function unreadable(why: string): Problem {
  return new Problem('provider-unreadable', { detail: `the answer of the model cannot be read: ${why}` })
}
