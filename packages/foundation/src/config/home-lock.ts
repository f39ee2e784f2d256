import { realpath } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { Socket } from 'node:net'
import { Problem } from '@flotilla/protocol/problem'
import { findHolder, lockNames } from './lock-holder.ts'

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

/** Activities that do not end by themselves, so that waiting for them is pointless. */
const deedsOfMesh: readonly unknown[] = ['starting', 'running'] satisfies readonly Deed[]

export interface HomeLock {
  /** Changes the activity that is reported to a second process. */
  now(deed: Deed): void
  release(): Promise<void>
}

/** The number of attempts to lock a home whose holder ends while this process asks which process holds it. */
const attemptsMax = 5
/** The maximum number of clients that are answered at the same time; further ones are disconnected. */
const clientsMax = 16
/** Milliseconds until a client is disconnected. The kernel buffers the answer, so a slower client is a stranger. */
const answerMaxMs = 2000

/**
 * Locks a home for this process. The lock is an abstract socket: taking it is atomic, and the kernel releases it when
 * the process ends in any way. The holder answers on it with its process id and its activity. Throws the Problem
 * `home-in-use` while another process holds it. Links are resolved, so that two names of one home are one lock.
 * Every user of the machine can take such a name, so a name that a process of another user holds is passed over.
 */
export async function lockHome(
  home: string,
  own: { readonly pid: number; readonly deed: Deed },
): Promise<HomeLock> {
  const place = await realpath(home).catch(() => home)
  for (let attempt = 1; attempt <= attemptsMax; attempt++) {
    const lock = await takeFreeName(place, { home, own })
    if (lock) return lock
  }
  throw inUse(home, null)
}

/** Returns the lock; null if the holder that refused it has ended, or if strangers hold all names of the lock. */
async function takeFreeName(
  place: string,
  { home, own }: { readonly home: string; readonly own: { readonly pid: number; readonly deed: Deed } },
): Promise<HomeLock | null> {
  for (const name of lockNames(place)) {
    const lock = await take(name, own)
    const holder = await findHolder(place, lock ? { except: name } : { of: name })
    if (holder === 'stranger' && !lock) continue
    if (holder === null || holder === 'stranger') return lock
    // Another process of this home started while a stranger held this name, and holds the lock under another name.
    await lock?.release()
    throw inUse(home, { pid: holder.pid, deed: deedOf(holder.word) ?? 'running' })
  }
  return null
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

function deedOf(word: string): Deed | undefined {
  return Object.keys(deeds).find((known): known is Deed => known === word)
}

/** Whether the process that holds the home is, or may be, a mesh; `problem` comes from `lockHome`. Pure. */
export function isHeldByMesh({ extra }: Problem): boolean {
  return deedsOfMesh.includes(extra['deed'])
}

/**
 * Listens on the abstract socket `name`. Returns null if another process has the name. Each client is disconnected
 * after its answer, because an open connection would delay the release.
 */
function take(name: string, own: { readonly pid: number; readonly deed: Deed }): Promise<HomeLock | null> {
  let { deed } = own
  const clients = new Set<Socket>()
  const server = createServer((socket) => {
    clients.add(socket)
    socket.once('close', () => clients.delete(socket))
    socket.on('error', () => socket.destroy())
    socket.setTimeout(answerMaxMs, () => socket.destroy())
    socket.end(`${own.pid} ${deed}\n`, () => socket.destroy())
  })
  server.maxConnections = clientsMax
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
            for (const socket of clients) socket.destroy()
          }),
      })
    })
  })
}
