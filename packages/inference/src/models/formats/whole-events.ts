import { Problem } from '@flotilla/protocol/problem'

/** The bound for one event: usually a few hundred bytes, but megabytes if it contains a picture. */
const eventMaxBytes = 8 * 1024 * 1024
/** First size of the buffer for an unfinished event, and the largest that is kept for the next event, bytes. */
const bufferMinBytes = 1024
/** The largest buffer for an unfinished event that is kept for the next event, in bytes. */
const bufferKeptMaxBytes = 64 * 1024

const lineFeed = 10
const carriageReturn = 13

/** Collects the pieces of a stream of server-sent events until an event is whole. */
export interface WholeEvents {
  /** All bytes up to the end of the last whole event; null while no event has ended. */
  take(bytes: Uint8Array): Buffer | null
  /** Returns the bytes of the unfinished event; null without any. */
  rest(): Buffer | null
}

/**
 * Searches each byte once and copies it a bounded number of times, so an event in small pieces costs no more than a
 * whole one. `take` throws the Problem `upstream-failed` for an event that is too large.
 */
export function createWholeEvents(): WholeEvents {
  let held = Buffer.alloc(0)
  let heldBytes = 0

  function hold(piece: Buffer): void {
    const needed = heldBytes + piece.length
    if (needed > eventMaxBytes)
      throw new Problem('upstream-failed', { detail: 'an event of the stream is too large' })
    if (needed > held.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, held.length * 2, bufferMinBytes))
      held.copy(larger, 0, 0, heldBytes)
      held = larger
    }
    piece.copy(held, heldBytes)
    heldBytes = needed
  }

  return {
    take(bytes) {
      const piece = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      const end = lastEnd(piece) || endAcross(held, heldBytes, piece)
      if (end === 0) {
        hold(piece)
        return null
      }
      const last = piece.subarray(0, end)
      const whole = heldBytes === 0 ? last : Buffer.concat([held.subarray(0, heldBytes), last])
      heldBytes = 0
      if (held.length > bufferKeptMaxBytes) held = Buffer.alloc(0)
      if (end < piece.length) hold(piece.subarray(end))
      return whole
    },
    rest: () => (heldBytes === 0 ? null : Buffer.from(held.subarray(0, heldBytes))),
  }
}

/** Returns the position after the last complete event and its empty line; 0 if none ends in these bytes. Pure. */
export function lastEnd(bytes: Buffer): number {
  const plain = bytes.lastIndexOf('\n\n')
  const returned = bytes.includes(carriageReturn) ? bytes.lastIndexOf('\n\r\n') : -1
  return Math.max(plain === -1 ? 0 : plain + 2, returned === -1 ? 0 : returned + 3)
}

/** Returns the end of an empty line in `piece` that began in the bytes before it; 0 without one. */
function endAcross(before: Buffer, length: number, piece: Buffer): number {
  const last = length > 0 ? before[length - 1] : undefined
  if (last === lineFeed) {
    if (piece[0] === lineFeed) return 1
    return piece[0] === carriageReturn && piece[1] === lineFeed ? 2 : 0
  }
  const isCut = last === carriageReturn && length > 1 && before[length - 2] === lineFeed
  return isCut && piece[0] === lineFeed ? 1 : 0
}

/** Returns the position after the first event from `from` on and its empty line; -1 if it is incomplete. Pure. */
export function eventEnd(data: Buffer, from: number): number {
  for (let at = data.indexOf(lineFeed, from); at !== -1; at = data.indexOf(lineFeed, at + 1)) {
    if (data[at + 1] === lineFeed) return at + 2
    if (data[at + 1] === carriageReturn && data[at + 2] === lineFeed) return at + 3
  }
  return -1
}

/** Whether lines end in a carriage return alone; most providers send a line feed too. */
export function endsInReturns(bytes: Buffer | null): boolean {
  const at = bytes?.indexOf(carriageReturn) ?? -1
  return bytes !== null && at !== -1 && at < bytes.length - 1 && !bytes.includes(lineFeed)
}
