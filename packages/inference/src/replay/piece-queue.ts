import { inPieces } from './in-pieces.ts'
import type { Pieces } from './in-pieces.ts'

/** How much work may wait in the queue, in items and in characters; more is refused. */
export const queueLimits = { waitingMax: 256, waitingMaxChars: 64 * 1024 * 1024 } as const

/**
 * Runs work items one after the other, in the order of `add`, in pieces between which other work of the mesh runs.
 */
export interface PieceQueue {
  /** Queues work. Returns false and refuses the work if too much waits; an empty queue accepts work of any length. */
  add(work: () => Pieces<void>, chars: number): boolean
  /** Resolves when all work added so far is done. */
  done(): Promise<void>
}

/** Creates a queue. It calls `failed` with the error that a work item throws, and continues with the next item. */
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
