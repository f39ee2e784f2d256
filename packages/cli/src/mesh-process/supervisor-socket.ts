import { createHash, randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { readFile, realpath } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import type { Server } from 'node:net'
import process from 'node:process'
import { holderOf, listenersOn, unreadableHolder } from '@flotilla/protocol/socket-holder'
import type { Listener } from '@flotilla/protocol/socket-holder'
import * as z from 'zod/mini'
import { parseJsonLine } from './mesh-lines.ts'
import { superviseWord } from './supervise-word.ts'

/** The state that the supervisor of a home reports. */
const stateSchema = z.looseObject({
  /** Process id of the supervisor. */
  pid: z.int().check(z.positive()),
  /** 0 while no mesh runs. */
  mesh_pid: z.int(),
  restarts: z.int(),
  /** How the last mesh of this supervisor ended, as text; null if none has ended. */
  last_exit: z.nullable(z.string()),
  last_exit_at: z.nullable(z.number()),
  /** When the next mesh is started; null while one runs. */
  next_start_at: z.nullable(z.number()),
})
export type SupervisorState = z.infer<typeof stateSchema>

const answerMaxMs = 2000
const answerMaxChars = 4096
const askersMax = 16
/** The number of names that are the same for every process, so that only one supervisor can take each. */
const fixedNamesMax = 16

/**
 * Answers every client with the state. The socket has no file: it works while the disk of the home is full or
 * read-only, and the kernel removes it with the process. Other users of the machine can take names as well, so a name
 * that no trusted process holds is passed over; the last name is random, so that no other user can take it. False if
 * the home already has a supervisor.
 */
export async function answerAsSupervisor(home: string, state: () => SupervisorState): Promise<boolean> {
  const trusted = trustedUids(home)
  const first = await firstName(home)
  for (const name of namesFrom(first)) {
    const server = await listening(name, state)
    const isWanted = server === null ? isOnly(name) : isOther(first, name)
    const holder = holderOf(fs, inodesOf(listenersOn(fs, isWanted)), trusted)
    if (holder === null && server === null) continue
    if (holder === null) return true
    // Another supervisor holds this name or a further one; of two simultaneous starts, both may be refused.
    server?.close()
    return false
  }
  return false
}

/**
 * Returns the state of this home's supervisor, or null without one. Answers of other users' processes are ignored,
 * except those of root's supervisor if its command line names this home.
 */
export async function askSupervisor(home: string): Promise<SupervisorState | null> {
  const trusted = trustedUids(home)
  const first = await firstName(home)
  const read = () => {
    const listeners = listenersOn(fs, isOther(first, null))
    return { listeners, holder: holderOf(fs, inodesOf(listeners), trusted) }
  }
  const { listeners, holder } = read()
  if (listeners.length === 0) return null
  if (holder === null) {
    const place = await placeOf(home)
    return unreadableHolder(fs, listeners, {
      ownUid: process.getuid?.() ?? 0,
      trustedUids: trusted,
      answerOf: stateFrom,
      isMeant: (words) => [home, place].includes(words[words.indexOf(superviseWord) + 1] ?? ''),
    })
  }
  const held = listeners.find(({ inode }) => inode === holder.inode)
  const state = held === undefined ? null : await stateFrom(held.name)
  // Checks the owner of the name again: only if it is unchanged does the answer come from that process.
  const isSame = read().holder?.pid === holder.pid
  return state !== null && isSame && state.pid === holder.pid && (await isSupervisor(holder.pid))
    ? state
    : null
}

/** Whether a process is alive and a supervisor: process ids are reused. */
export async function isSupervisor(pid: number): Promise<boolean> {
  const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  return commandLine.split('\0').includes(superviseWord)
}

/** Returns the trusted user ids: root, the user of this process, and the owner of the home. */
function trustedUids(home: string): readonly number[] {
  const own = [0, process.getuid?.() ?? 0]
  try {
    return [...own, fs.statSync(home).uid]
  } catch {
    return own // The home is not there, or its disk cannot be read now.
  }
}

const inodesOf = (listeners: readonly Listener[]): readonly string[] => listeners.map(({ inode }) => inode)

const isOnly = (name: string) => (other: string) => other === name

/** Returns a check whether a name is a supervisor's name for this home, and not the name `own`. */
const isOther = (first: string, own: string | null) => (other: string) =>
  other !== own && other.startsWith(first)

/** Resolves to a server that listens on the name, or to null if the name is taken; other errors reject. */
function listening(name: string, state: () => SupervisorState): Promise<Server | null> {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    socket.setTimeout(answerMaxMs, () => socket.destroy())
    socket.end(`${JSON.stringify(state())}\n`, () => socket.destroy())
  })
  server.maxConnections = askersMax
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      if ('code' in error && error.code === 'EADDRINUSE') resolve(null)
      else reject(error)
    })
    server.listen(name, () => {
      server.unref()
      resolve(server)
    })
  })
}

/** The beginning of all names of the supervisor of a home. */
async function firstName(home: string): Promise<string> {
  const hash = createHash('sha256')
    .update(await placeOf(home))
    .digest('hex')
    .slice(0, 32)
  return `\0flotilla-supervisor-${hash}-`
}

function placeOf(home: string): Promise<string> {
  return realpath(home).catch(() => home)
}

/** The abstract sockets of a supervisor, in the order in which they are tried. */
function* namesFrom(first: string): Generator<string> {
  yield* fixedNames(first)
  yield `${first}${randomBytes(16).toString('hex')}`
}

function fixedNames(first: string): readonly string[] {
  return Array.from({ length: fixedNamesMax }, (_, index) => `${first}${index}`)
}

/** The names that every process can compute in advance. */
export async function fixedNamesOf(home: string): Promise<readonly string[]> {
  return fixedNames(await firstName(home))
}

async function stateFrom(name: string): Promise<SupervisorState | null> {
  return stateSchema.safeParse(parseJsonLine(await answerOf(name))).data ?? null
}

function answerOf(name: string): Promise<string> {
  return new Promise((resolve) => {
    let output = ''
    const socket = connect(name)
    const end = (): void => {
      socket.destroy()
      resolve(output)
    }
    socket.setTimeout(answerMaxMs, end)
    socket.on('data', (piece: Buffer) => {
      output += piece.toString('utf8')
      if (output.length > answerMaxChars) end()
    })
    socket.on('end', end).on('error', end)
  })
}
