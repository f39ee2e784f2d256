import { createHash } from 'node:crypto'
import { createServer } from 'node:net'
import { Problem } from '@flotilla/protocol/problem'

export interface HomeLock {
  release(): Promise<void>
}

/**
 * Holds a home for this process alone. An abstract socket is the lock: taking it is atomic, and the kernel lets
 * go of it when the process dies, however it dies. Throws the Problem `conflict` while another mesh holds it.
 */
export function lockHome(home: string): Promise<HomeLock> {
  const name = createHash('sha256').update(home).digest('hex').slice(0, 32)
  const server = createServer((socket) => socket.destroy())
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const taken = 'code' in error && error.code === 'EADDRINUSE'
      reject(
        taken
          ? new Problem('conflict', {
              detail: `another mesh runs on ${home}; stop it with flotilla stop, or choose another --home`,
            })
          : error,
      )
    })
    server.listen(`\0flotilla-${name}`, () => {
      server.unref()
      resolve({ release: () => new Promise((done) => server.close(() => done())) })
    })
  })
}
