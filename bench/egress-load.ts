import { connect, createServer } from 'node:net'
import type { Socket } from 'node:net'

/** One measurement: the number of tunnels, how many are open at once, and the bytes that each transfers. */
export interface TunnelOrder {
  /** Null for a direct connection to the target server. */
  readonly proxy: { readonly host: string; readonly port: number; readonly authorization: string } | null
  readonly tunnels: number
  readonly atOnce: number
  readonly bytesEach: number
}

export interface TunnelResult {
  readonly wallMs: number
  readonly failures: number
  readonly failure: string | null
}

const pieceBytes = 64 * 1024
const piece = Buffer.alloc(pieceBytes, 'x')

/** The target server: receives a number of bytes as text, sends that many, and closes the connection. */
function serve(socket: Socket): void {
  socket.on('error', () => socket.destroy())
  socket.once('data', (chunk: Buffer) => {
    let left = Number(chunk.toString())
    const send = () => {
      while (left > 0) {
        const next = Math.min(left, pieceBytes)
        left -= next
        if (!socket.write(next === pieceBytes ? piece : piece.subarray(0, next))) {
          socket.once('drain', send)
          return
        }
      }
      socket.end()
    }
    send()
  })
}

/** Measures one tunnel from the first packet to the last byte. */
function throughTunnel(order: TunnelOrder, farPort: number): Promise<void> {
  const { proxy, bytesEach } = order
  const place = proxy ?? { host: '127.0.0.1', port: farPort }
  return new Promise((resolve, reject) => {
    const socket = connect({ host: place.host, port: place.port, noDelay: true })
    let isOpen = proxy === null
    let got = 0
    const ask = () => socket.write(String(bytesEach))
    socket.once('connect', () => {
      if (isOpen) ask()
      else {
        const login = proxy?.authorization === '' ? '' : `Proxy-Authorization: ${proxy?.authorization}\r\n`
        socket.write(`CONNECT 127.0.0.1:${farPort} HTTP/1.1\r\nHost: 127.0.0.1:${farPort}\r\n${login}\r\n`)
      }
    })
    socket.on('data', (chunk: Buffer) => {
      if (isOpen) got += chunk.length
      else if (chunk.toString('latin1', 0, 12) === 'HTTP/1.1 200') {
        isOpen = true
        ask()
      } else socket.destroy(new Error(chunk.toString('latin1', 0, 300)))
    })
    socket.once('error', reject)
    socket.once('close', () => {
      if (got === bytesEach) resolve()
      else reject(new Error(`${got} of ${bytesEach} bytes came`))
    })
  })
}

async function runTunnels(order: TunnelOrder, farPort: number): Promise<TunnelResult> {
  let begun = 0
  let failures = 0
  let failure: string | null = null
  const work = async () => {
    while (begun < order.tunnels) {
      begun += 1
      try {
        await throughTunnel(order, farPort)
      } catch (error) {
        failures += 1
        failure ??= error instanceof Error ? error.message : String(error)
      }
    }
  }
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: order.atOnce }, work))
  return { wallMs: performance.now() - startedAt, failures, failure }
}

if (import.meta.main) {
  const farEnd = createServer(serve)
  farEnd.listen(0, '127.0.0.1', () => {
    const address = farEnd.address()
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0
    process.on('message', (order: TunnelOrder) => {
      runTunnels(order, port).then(
        (result) => process.send?.(result),
        (error: unknown) => process.send?.({ error: String(error) }),
      )
    })
    process.send?.({ port })
  })
  process.once('disconnect', () => process.exit(0))
}
