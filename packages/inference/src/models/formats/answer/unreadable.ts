import { Problem } from '@flotilla/protocol/problem'

/** An answer that cannot be parsed counts as a failure of its provider, never as an empty answer. Pure. */
export function unreadable(why: string): Problem {
  return new Problem('provider-unreadable', { detail: `the answer of the model cannot be read: ${why}` })
}
