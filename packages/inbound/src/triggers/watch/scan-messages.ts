import type { FolderPiece } from './read-folder.ts'
import type { ScanEnd } from './scan-folder.ts'

/** A scan request to the scan thread. */
export interface ScanOrder {
  readonly path: string
  readonly pattern: string
  /** Shared with the mesh; see `gate`. */
  readonly gate: Int32Array<SharedArrayBuffer>
}

/** The messages of the scan thread: first pieces, then the end. */
export type ScanWord =
  | { readonly kind: 'piece'; readonly piece: FolderPiece }
  | { readonly kind: 'end'; readonly end: ScanEnd }

/** The indexes of the numbers that the mesh and the thread share for one scan. */
export const gate = { stopped: 0, takenPieces: 1, places: 2 } as const
/** How many unprocessed pieces the thread may send ahead, which bounds memory and bursts. */
export const piecesAhead = 4
/** How long the thread sleeps at most before it checks whether to stop, in milliseconds. */
export const gateAskMs = 1000
