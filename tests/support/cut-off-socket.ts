import { createConnection, createServer } from 'node:net'
import type { Server, Socket } from 'node:net'
import { rm } from 'node:fs/promises'

/** A socket in front of another one that a test can remove and restore, as when a daemon restarts. */
export interface CutOffSocket {
  readonly path: string
  /** Ends every connection and removes the socket. */
  cut(): Promise<void>
  restore(): Promise<void>
  close(): Promise<void>
}

export async function cutOffSocket(path: string, target: string): Promise<CutOffSocket> {
  const open = new Set<Socket>()
  let server: Server | null = null

  async function restore(): Promise<void> {
    const opening = createServer({ allowHalfOpen: true }, (near) => {
      const far = createConnection({ path: target, allowHalfOpen: true })
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        open.add(one)
        one.on('error', () => other.destroy())
        one.on('close', () => {
          open.delete(one)
          other.destroy()
        })
      }
      near.pipe(far)
      far.pipe(near)
    })
    server = opening
    await new Promise<void>((resolve) => opening.listen(path, resolve))
  }

  async function cut(): Promise<void> {
    const closing = server
    server = null
    if (!closing) return
    const closed = new Promise<void>((resolve) => closing.close(() => resolve()))
    for (const socket of open) socket.destroy()
    await closed
    await rm(path, { force: true })
  }

  await restore()
  return { path, cut, restore, close: cut }
}
