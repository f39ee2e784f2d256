import { crc32 } from 'node:zlib'
import { unreadable } from '../answer/unreadable.ts'

/** The largest frame that is read, bytes: Amazon's own limit of one message of an event stream. */
const frameMaxBytes = 16 * 1024 * 1024
/** Lengths of the frame and of its headers, and the checksum of both. */
export const preludeBytes = 12
/** The checksum at the end of a frame. */
const checksumBytes = 4

/** One message of Amazon's binary event stream (`application/vnd.amazon.eventstream`). */
export interface EventFrame {
  readonly headers: ReadonlyMap<string, string>
  readonly payload: Buffer
}

export interface FrameReader {
  /** Returns the complete frames. Throws the Problem `provider-unreadable` at the first damaged one. */
  take(bytes: Uint8Array): Generator<EventFrame>
  /** Bytes of an incomplete frame. */
  openBytes(): number
}

/** Cuts the bytes of a stream into frames and checks their lengths and checksums. */
export function createFrameReader(): FrameReader {
  let pieces: Uint8Array[] = []
  let heldBytes = 0
  /** How many bytes the next step needs: a prelude, or the frame whose length the prelude states. */
  let neededBytes = preludeBytes

  function joined(): Buffer {
    const [first] = pieces
    // One piece is not copied: it may hold many frames, and is joined again for each.
    const bytes =
      first !== undefined && pieces.length === 1
        ? Buffer.from(first.buffer, first.byteOffset, first.length)
        : Buffer.concat(pieces)
    pieces = [bytes]
    return bytes
  }

  function keep(bytes: Buffer): void {
    pieces = bytes.length === 0 ? [] : [bytes]
    heldBytes = bytes.length
    neededBytes = preludeBytes
  }

  return {
    *take(bytes) {
      pieces.push(bytes)
      heldBytes += bytes.length
      while (heldBytes >= neededBytes) {
        const held = joined()
        const frameBytes = frameLength(held)
        if (heldBytes < frameBytes) {
          neededBytes = frameBytes
          return
        }
        const frame = readFrame(held.subarray(0, frameBytes))
        keep(held.subarray(frameBytes))
        yield frame
      }
    },
    openBytes: () => heldBytes,
  }
}

/** Whether bytes begin with the prelude of a frame; false for text, and for fewer bytes than a prelude has. Pure. */
export function startsWithFrame(bytes: Uint8Array): boolean {
  return bytes.length >= preludeBytes && isPrelude(Buffer.from(bytes.subarray(0, preludeBytes)))
}

function isPrelude(held: Buffer): boolean {
  const frameBytes = held.readUInt32BE(0)
  const isPossible =
    frameBytes <= frameMaxBytes && preludeBytes + held.readUInt32BE(4) + checksumBytes <= frameBytes
  return isPossible && crc32(held.subarray(0, 8)) === held.readUInt32BE(8)
}

function frameLength(held: Buffer): number {
  if (!isPrelude(held)) throw unreadable('the head of an event in its stream is damaged')
  return held.readUInt32BE(0)
}

function readFrame(bytes: Buffer): EventFrame {
  const end = bytes.length - checksumBytes
  if (crc32(bytes.subarray(0, end)) !== bytes.readUInt32BE(end))
    throw unreadable('an event in its stream is damaged')
  const payloadAt = preludeBytes + bytes.readUInt32BE(4)
  return {
    headers: readHeaders(bytes.subarray(preludeBytes, payloadAt)),
    payload: bytes.subarray(payloadAt, end),
  }
}

/** Value lengths of header types; the two types without an entry begin with their length. */
const fixedLengths: Readonly<Record<number, number>> = { 0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16 }
const stringType = 7

/** Returns the headers that are texts; the others are passed over. */
function readHeaders(bytes: Buffer): ReadonlyMap<string, string> {
  const headers = new Map<string, string>()
  try {
    for (let at = 0; at < bytes.length;) {
      const nameEnd = at + 1 + bytes.readUInt8(at)
      const name = bytes.toString('utf8', at + 1, nameEnd)
      const type = bytes.readUInt8(nameEnd)
      const fixed = fixedLengths[type]
      const valueAt = nameEnd + (fixed === undefined ? 3 : 1)
      const valueEnd = valueAt + (fixed ?? bytes.readUInt16BE(nameEnd + 1))
      if (type === stringType) headers.set(name, bytes.toString('utf8', valueAt, valueEnd))
      at = valueEnd
    }
  } catch {
    throw unreadable('the headers of an event in its stream are damaged')
  }
  return headers
}

/** Writes a frame as Bedrock does. Pure. */
export function printFrame(kind: 'event' | 'exception', type: string, payload: object): Buffer {
  const headers = Buffer.concat([
    printHeader(`:${kind}-type`, type),
    printHeader(':content-type', 'application/json'),
    printHeader(':message-type', kind),
  ])
  const body = Buffer.from(JSON.stringify(payload))
  const frame = Buffer.alloc(preludeBytes + headers.length + body.length + checksumBytes)
  frame.writeUInt32BE(frame.length, 0)
  frame.writeUInt32BE(headers.length, 4)
  frame.writeUInt32BE(crc32(frame.subarray(0, 8)), 8)
  headers.copy(frame, preludeBytes)
  body.copy(frame, preludeBytes + headers.length)
  const end = frame.length - checksumBytes
  frame.writeUInt32BE(crc32(frame.subarray(0, end)), end)
  return frame
}

function printHeader(name: string, value: string): Buffer {
  const [nameBytes, valueBytes] = [Buffer.from(name), Buffer.from(value)]
  const lengths = Buffer.alloc(3)
  lengths.writeUInt8(stringType, 0)
  lengths.writeUInt16BE(valueBytes.length, 1)
  return Buffer.concat([Buffer.from([nameBytes.length]), nameBytes, lengths, valueBytes])
}
