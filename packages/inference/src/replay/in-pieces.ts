import { setImmediate as turn } from 'node:timers/promises'
import type { Steps } from '@flotilla/egress/credentials'

/** Characters of a record that are processed without a break; between two pieces the mesh does other work. */
export const pieceMaxChars = 32 * 1024

/** Work that yields the number of characters it has processed since the last yield. */
export type Pieces<T> = Steps<T>

/** Removes secrets, and what looks like one, from a text. */
export type Clean = (text: string) => Pieces<string>

/** Does the work in pieces of `pieceMaxChars` and at most one step more; the mesh does other work between pieces. */
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
