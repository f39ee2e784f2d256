import type { FolderPiece } from './read-folder.ts'
import type { ScanEnd } from './scan-folder.ts'

/** What the mesh asks the thread that looks into folders. */
export interface ScanOrder {
  readonly path: string
  readonly pattern: string
  /** Shared with the mesh; see `gate`. */
  readonly gate: Int32Array<SharedArrayBuffer>
}

/** What the thread says: pieces, and then the end. */
export type ScanWord =
  | { readonly kind: 'piece'; readonly piece: FolderPiece }
  | { readonly kind: 'end'; readonly end: ScanEnd }

/** Places in the numbers that both sides share during one scan. */
export const gate = { stopped: 0, takenPieces: 1, places: 2 } as const
/** Pieces that the thread is ahead of the mesh at most, so that a busy mesh neither fills up nor catches up at one go. */
export const piecesAhead = 4
/** How long the thread sleeps at most until it asks again whether it is to stop, milliseconds. */
export const gateAskMs = 1000
