import type { TLSSocket } from 'node:tls'

/** Frames of HTTP/2 written and read by hand (RFC 9113, section 6), for clients that break its rules. */

export const frameTypes = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  push: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const

export const flags = { endStream: 1, acknowledged: 1, endHeaders: 4 } as const

export interface Frame {
  readonly type: number
  readonly flags: number
  readonly stream: number
  readonly payload: Buffer
}

export function frame(
  ...[type, flag, stream, payload = new Uint8Array()]: [
    type: number,
    flag: number,
    stream: number,
    payload?: Uint8Array,
  ]
): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flag
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** The beginning of a connection: the preface and a SETTINGS frame with these parameters. */
export function preface(settings: readonly (readonly [id: number, value: number])[] = []): Buffer {
  const payload = Buffer.alloc(settings.length * 6)
  for (const [at, [id, value]] of settings.entries()) {
    payload.writeUInt16BE(id, at * 6)
    payload.writeUInt32BE(value, at * 6 + 2)
  }
  return Buffer.concat([
    Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1'),
    frame(frameTypes.settings, 0, 0, payload),
  ])
}

/** Header fields as literals without an index (RFC 7541, section 6.2.2), of at most 126 bytes each. */
export function fields(pairs: readonly (readonly [name: string, value: string])[]): Buffer {
  return Buffer.concat(
    pairs.flatMap(([name, value]) => [
      Buffer.from([0]),
      ...[name, value].flatMap((text) => [lengthOf(text), Buffer.from(text, 'latin1')]),
    ]),
  )
}

function lengthOf(text: string): Buffer {
  const { length } = Buffer.from(text, 'latin1')
  if (length < 127) return Buffer.from([length])
  const bytes = [127]
  let rest = length - 127
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  return Buffer.from([...bytes, rest])
}

/** What the other side sends on a connection, frame by frame. */
export interface FrameReader {
  readonly frames: Frame[]
  readonly closed: Promise<unknown>
  isClosed(): boolean
}

/** Reads the frames that follow `skipped` bytes. */
export function readFrames(connection: TLSSocket, skipped = 0): FrameReader {
  const frames: Frame[] = []
  let rest: Buffer = Buffer.alloc(0)
  let isClosed = false
  let left = skipped
  connection.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk.subarray(left)])
    left = Math.max(0, left - chunk.length)
    for (;;) {
      if (rest.length < 9) return
      const length = rest.readUIntBE(0, 3)
      if (rest.length < 9 + length) return
      frames.push({
        type: rest[3] ?? 0,
        flags: rest[4] ?? 0,
        stream: rest.readUInt32BE(5),
        payload: Buffer.from(rest.subarray(9, 9 + length)),
      })
      rest = rest.subarray(9 + length)
    }
  })
  const closed = new Promise((resolve) => connection.once('close', resolve))
  void closed.then(() => (isClosed = true))
  return { frames, closed, isClosed: () => isClosed }
}
