import { Problem } from '@flotilla/protocol/problem'

/** An answer that nobody can make sense of is a failure of its provider, and never an empty answer. Pure. */
export function unreadable(why: string): Problem {
  return new Problem('provider-unreadable', { detail: `the answer of the model cannot be read: ${why}` })
}
