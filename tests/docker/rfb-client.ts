import { WebSocket } from 'ws'

export interface RfbClient {
  readonly size: { readonly width: number; readonly height: number }
  /** Presses and releases the left mouse button at this position. */
  click(x: number, y: number): void
  /** Resolves to WebSocket's close code when the connection ends. */
  readonly closed: Promise<number>
  /** Requests the screen and resolves to the size in bytes of the first update. */
  picture(): Promise<number>
  send(bytes: Buffer): void
  close(): void
}

/**
 * Implements the part of RFC 6143 that a person at the screen needs. Rejects with the HTTP status if the connection
 * is refused.
 */
export async function openRfb(url: string, headers: Readonly<Record<string, string>>): Promise<RfbClient> {
  const socket = new WebSocket(url, 'binary', { headers, perMessageDeflate: true })
  let held = Buffer.alloc(0)
  let wake: () => void = () => undefined
  socket.on('message', (data: Buffer) => {
    held = Buffer.concat([held, data])
    wake()
  })
  const closed = new Promise<number>((resolve) => {
    socket.on('close', (code) => {
      resolve(code)
      wake()
    })
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('error', reject)
  })
  if (socket.protocol !== 'binary' || socket.extensions !== '') throw new Error('not the plain sub-protocol')
  const read = async (bytes: number): Promise<Buffer> => {
    while (held.length < bytes) {
      if (socket.readyState !== WebSocket.OPEN) throw new Error('the screen went away')
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
    const taken = held.subarray(0, bytes)
    held = held.subarray(bytes)
    return taken
  }
  await read(12)
  socket.send('RFB 003.008\n')
  await read((await read(1))[0] ?? 0)
  socket.send(Buffer.from([1]))
  await read(4)
  // Requests exclusive access; the service makes it shared.
  socket.send(Buffer.from([0]))
  const begin = await read(24)
  await read(begin.readUInt32BE(20))
  const size = { width: begin.readUInt16BE(0), height: begin.readUInt16BE(2) }
  const pointer = (buttons: number, x: number, y: number): void => {
    const message = Buffer.from([5, buttons, 0, 0, 0, 0])
    message.writeUInt16BE(x, 2)
    message.writeUInt16BE(y, 4)
    socket.send(message)
  }
  return {
    size,
    closed,
    click(x, y) {
      for (const buttons of [0, 1, 0]) pointer(buttons, x, y)
    },
    async picture() {
      const ask = Buffer.alloc(10)
      ask[0] = 3
      ask.writeUInt16BE(size.width, 6)
      ask.writeUInt16BE(size.height, 8)
      socket.send(ask)
      await read(1)
      return held.length
    },
    send: (bytes) => socket.send(bytes),
    close: () => socket.close(),
  }
}
