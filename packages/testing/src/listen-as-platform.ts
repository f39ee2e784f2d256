import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The address of a fake platform, and the function that closes it. */
export interface ListeningPlatform {
  readonly origin: string
  readonly openSockets: () => Promise<number>
  readonly close: () => Promise<void>
}

/** Starts the server of a fake on loopback; it closes the connection of a call that it cannot answer. */
export async function listenAsPlatform(
  serve: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
): Promise<ListeningPlatform> {
  const server = createServer(
    (request, response) => void serve(request, response).catch(() => response.destroy()),
  )
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    openSockets: () =>
      new Promise((resolve, reject) =>
        server.getConnections((error, open) => (error ? reject(error) : resolve(open))),
      ),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
