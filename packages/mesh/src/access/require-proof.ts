import { Problem } from '@flotilla/protocol/problem'
import type { Caller } from './caller.ts'

/**
 * Problem `proof-wanted` for a page that brought no proof of the owner's that holds: one that was left open, or that
 * somebody else's script runs in, is not the owner. Programs of the owner's, chats and agents are asked nothing here.
 * `what` ends the sentence: an infinitive without "to".
 */
export function requireProof(caller: Caller, what: string): void {
  if (caller.kind !== 'human' || caller.page === undefined || caller.page === 'proved') return
  throw new Problem('proof-wanted', {
    detail: `a page cannot tell who sits at it; to ${what}, it wants the owner’s proof`,
  })
}
