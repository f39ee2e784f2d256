import { Problem } from '@flotilla/protocol/problem'
import type { Caller } from './caller.ts'

/**
 * Throws the Problem `proof-wanted` for a page without a valid proof of the owner: a page that was left
 * open, or in which an injected script runs, is not the owner. Programs of the owner, chats and agents need
 * no proof. `what` ends the sentence: an infinitive without "to".
 */
export function requireProof(caller: Caller, what: string): void {
  if (caller.kind !== 'human' || caller.page === undefined || caller.page === 'proved') return
  throw new Problem('proof-wanted', {
    detail: `a web page cannot know who uses it, so the owner’s proof is required to ${what}`,
  })
}
