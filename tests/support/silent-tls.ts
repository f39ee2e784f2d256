import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

/**
 * A server that accepts connections and never answers, also not the greeting of TLS. It shows how many connections a
 * client opens before it knows what the server speaks.
 */
export async function startSilentServer(): Promise<{
  readonly url: string
  /** Resolves when so many connections are open. */
  opened(count: number): Promise<void>
  close(): Promise<void>
}> {
  const sockets = new Set<Socket>()
  const waiting: { readonly count: number; readonly resolve: () => void }[] = []
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    for (const { count, resolve } of waiting) if (sockets.size >= count) resolve()
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    opened: (count) =>
      new Promise((resolve) => {
        if (sockets.size >= count) resolve()
        else waiting.push({ count, resolve })
      }),
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise<void>((resolve) => void server.close(() => resolve()))
    },
  }
}
