import type { FolderPiece } from './read-folder.ts'
import type { ScanEnd } from './scan-folder.ts'

/** A scan request to the scan thread. */
export interface ScanOrder {
  readonly path: string
  readonly pattern: string
  /** Shared with the mesh; see `gate`. */
  readonly gate: Int32Array<SharedArrayBuffer>
}

/** The messages of the thread: pieces, then the end. */
export type ScanWord =
  | { readonly kind: 'piece'; readonly piece: FolderPiece }
  | { readonly kind: 'end'; readonly end: ScanEnd }

/** Indexes of the shared numbers of one scan. */
export const gate = { stopped: 0, takenPieces: 1, places: 2 } as const
/** How many pieces the thread may be ahead of the mesh, which bounds memory and bursts. */
export const piecesAhead = 4
/** The longest sleep before the thread checks for a stop, in milliseconds. */
export const gateAskMs = 1000
