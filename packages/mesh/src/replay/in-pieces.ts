import { setImmediate as turn } from 'node:timers/promises'
import type { Steps } from '../credentials/index.ts'

/** Characters of a record that are gone through in one go; the mesh answers everybody else in between. */
export const pieceMaxChars = 32 * 1024

/** Work that says at each `yield` how many characters it has gone through since the last. */
export type Pieces<T> = Steps<T>

/** Takes out of words what is a secret, or looks like one. */
export type Clean = (words: string) => Pieces<string>

/** Does the work piece by piece, each of no more than `pieceMaxChars` and one step, and lets the event loop turn between them. */
export async function inPieces<T>(work: Pieces<T>): Promise<T> {
  let chars = 0
  for (;;) {
    const next = work.next()
    if (next.done === true) return next.value
    chars += next.value
    if (chars < pieceMaxChars) continue
    chars = 0
    await turn()
  }
}
