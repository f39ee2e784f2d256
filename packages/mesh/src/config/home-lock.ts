import { createHash } from 'node:crypto'
import { realpath } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import type { Socket } from 'node:net'
import { Problem } from '@flotilla/protocol/problem'

/** Describes what the holder of a lock does with the home, for a second process. */
const deeds = {
  starting: (home: string, who: string) => `a mesh is already being started on ${home} by ${who}`,
  running: (home: string, who: string) => `a mesh already runs on ${home}: ${who}`,
  removing: (home: string, who: string) => `${home} is being removed by ${who}`,
  'stopping-agents': (home: string, who: string) => `the agents of ${home} are being stopped by ${who}`,
  'backing-up': (home: string, who: string) => `${home} is being backed up by ${who}`,
  restoring: (home: string, who: string) => `${home} is being restored by ${who}`,
  'beginning-anew': (home: string, who: string) => `${home} is being given a new secret by ${who}`,
} as const
export type Deed = keyof typeof deeds

/** Activities without an end, so that waiting for them is pointless. */
const deedsOfMesh: readonly unknown[] = ['starting', 'running'] satisfies readonly Deed[]

export interface HomeLock {
  /** Changes the answer to a second process from now on. */
  now(deed: Deed): void
  release(): Promise<void>
}

/** If the holder ends between the refused lock and the question about it, the lock is tried again this often. */
const attemptsMax = 5
/** A Flotilla process answers at once; a slower holder is reported as another program. */
const answerMaxMs = 5000
const answerMaxChars = 64
/** Askers that are answered at the same time; further ones are turned away. */
const askersMax = 16
/** The answer fits into the kernel's buffer, so a client that has not received it by then is not a Flotilla process. */
const tellMaxMs = 2000

/**
 * Locks a home for this process. The lock is an abstract socket: taking it is atomic, and the kernel releases it when
 * the process ends in any way. The holder answers on it with its process id and its activity. Throws the Problem
 * `home-in-use` while another process holds it. Links are resolved, so that two names of one home are one lock.
 */
export async function lockHome(
  home: string,
  own: { readonly pid: number; readonly deed: Deed },
): Promise<HomeLock> {
  const socket = lockSocket(await realpath(home).catch(() => home))
  for (let attempt = 1; ; attempt++) {
    const lock = await take(socket, own)
    if (lock) return lock
    const holder = await askHolder(socket)
    if (holder === null && attempt < attemptsMax) continue
    throw inUse(home, holder)
  }
}

function inUse(home: string, holder: { readonly pid: number; readonly deed: Deed } | null): Problem {
  const deed = holder?.deed ?? 'running'
  const who = holder ? `process ${holder.pid}` : 'another program'
  return new Problem('home-in-use', {
    detail: deeds[deed](home, who),
    extra: { deed },
    ...(deedsOfMesh.includes(deed) ? {} : { repair: `Wait until ${who} has ended, then try again.` }),
  })
}

/** Whether it is a mesh, or what may be one, that a home was refused for by `lockHome`. Pure. */
export function isHeldByMesh({ extra }: Problem): boolean {
  return deedsOfMesh.includes(extra['deed'])
}

/** The abstract socket of a home with a resolved path. Any user of this machine can connect to it. Pure. */
export function lockSocket(place: string): string {
  return `\0flotilla-${createHash('sha256').update(place).digest('hex').slice(0, 32)}`
}

/**
 * Null if it is taken. A client gets the answer and is disconnected, because an open connection would delay the
 * release.
 */
function take(name: string, own: { readonly pid: number; readonly deed: Deed }): Promise<HomeLock | null> {
  let { deed } = own
  const askers = new Set<Socket>()
  const server = createServer((socket) => {
    askers.add(socket)
    socket.once('close', () => askers.delete(socket))
    socket.on('error', () => socket.destroy())
    socket.setTimeout(tellMaxMs, () => socket.destroy())
    socket.end(`${own.pid} ${deed}\n`, () => socket.destroy())
  })
  server.maxConnections = askersMax
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      if ('code' in error && error.code === 'EADDRINUSE') resolve(null)
      else reject(error)
    })
    server.listen(name, () => {
      server.unref()
      resolve({
        now: (next) => {
          deed = next
        },
        release: () =>
          new Promise((done) => {
            server.close(() => done())
            for (const socket of askers) socket.destroy()
          }),
      })
    })
  })
}

/** Null if the holder has ended, or does not answer like a Flotilla process. */
function askHolder(name: string): Promise<{ readonly pid: number; readonly deed: Deed } | null> {
  return new Promise((resolve) => {
    let said = ''
    const socket = connect(name)
    const end = () => {
      socket.destroy()
      resolve(parseHolder(said))
    }
    socket.setTimeout(answerMaxMs, end)
    socket.on('data', (piece: Buffer) => {
      said += piece.toString('utf8')
      if (said.length > answerMaxChars) end()
    })
    socket.on('end', end)
    socket.on('error', end)
  })
}

function parseHolder(said: string): { pid: number; deed: Deed } | null {
  const [, pid = '', word = ''] = /^(\d{1,10}) ([a-z-]+)\n$/.exec(said) ?? []
  const deed = Object.keys(deeds).find((known): known is Deed => known === word)
  return deed === undefined ? null : { pid: Number(pid), deed }
}
