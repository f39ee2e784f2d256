import { once } from 'node:events'
import { WebSocket } from 'ws'

/** One measurement: the number of sockets at one address, and the events that each must receive. */
export interface ListenOrder {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly listeners: number
  readonly events: number
}

/** Text that every event of a measurement contains, and no other frame. */
export const eventMark = '"type":"event"'

/** Opens all sockets, reports that they are open, and reports when each has received every event. */
async function listen(order: ListenOrder): Promise<void> {
  const mark = Buffer.from(eventMark)
  const heard = Array.from({ length: order.listeners }, async () => {
    const socket = new WebSocket(order.url, { headers: order.headers })
    await once(socket, 'open')
    let count = 0
    const all = new Promise<void>((resolve, reject) => {
      socket.on('message', (data: Buffer) => {
        if (!data.includes(mark)) return
        count += 1
        if (count === order.events) resolve()
      })
      socket.once('close', () => reject(new Error(`a socket was closed after ${count} events`)))
    })
    return { socket, all }
  })
  const sockets = await Promise.all(heard)
  process.send?.({ listening: sockets.length })
  await Promise.all(sockets.map(({ all }) => all))
  process.send?.({ heard: true })
  for (const { socket } of sockets) socket.terminate()
}

if (import.meta.main) {
  process.on('message', (order: ListenOrder) => {
    listen(order).catch((error: unknown) => process.send?.({ error: String(error) }))
  })
  process.once('disconnect', () => process.exit(0))
}
