import { inPieces } from './in-pieces.ts'
import type { Pieces } from './in-pieces.ts'

/** Pieces of work that wait for their turn, and characters of all of them: what is more is refused. */
export const queueLimits = { waitingMax: 256, waitingMaxChars: 64 * 1024 * 1024 } as const

/** Work of any length, one after the other in the order in which it came, each in pieces between which others act. */
export interface PieceQueue {
  /** False where too much waits already: then it is not done. One alone is taken however long it is. */
  add(work: () => Pieces<void>, chars: number): boolean
  /** Until all that was added so far is done. */
  done(): Promise<void>
}

/** `failed` is called with what a piece of work throws; the next one still runs. */
export function createPieceQueue(failed: (error: unknown) => void): PieceQueue {
  let last = Promise.resolve()
  let waiting = 0
  let waitingChars = 0

  async function perform(work: () => Pieces<void>, chars: number): Promise<void> {
    try {
      await inPieces(work())
    } catch (error) {
      failed(error)
    } finally {
      waiting -= 1
      waitingChars -= chars
    }
  }

  return {
    add(work, chars) {
      const isFull = waiting >= queueLimits.waitingMax || waitingChars + chars > queueLimits.waitingMaxChars
      if (isFull && waiting > 0) return false
      waiting += 1
      waitingChars += chars
      last = last.then(() => perform(work, chars))
      return true
    },
    done: () => last,
  }
}
