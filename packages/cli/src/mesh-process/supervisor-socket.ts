import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { readFile, realpath } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import type { Server } from 'node:net'
import process from 'node:process'
import { trustedHolder } from '@flotilla/protocol/socket-holder'
import * as z from 'zod/mini'
import { CommandFailed } from '../command-failed.ts'
import { parseJsonLine } from './mesh-lines.ts'
import { superviseWord } from './supervise-word.ts'

/** The state that the supervisor of a home reports. */
const stateSchema = z.looseObject({
  /** Process id of the supervisor. */
  pid: z.int().check(z.positive()),
  /** 0 while no mesh runs. */
  mesh_pid: z.int(),
  restarts: z.int(),
  /** As text; null if no mesh of it has ended. */
  last_exit: z.nullable(z.string()),
  last_exit_at: z.nullable(z.number()),
  /** When the next mesh is started; null while one runs. */
  next_start_at: z.nullable(z.number()),
})
export type SupervisorState = z.infer<typeof stateSchema>

const answerMaxMs = 2000
const answerMaxChars = 4096
const askersMax = 16
/** Names of one home: each that a process of another user holds is passed over. */
const namesMax = 16

/**
 * Answers every client with the state. The socket has no file: it works while the disk of the home is full or
 * read-only, and the kernel removes it with the process. Other users of the machine can take names as well, so
 * there are several, and the kernel is asked who holds one. False if the home already has a supervisor. Rejects with
 * CommandFailed if no name is free.
 */
export async function answerAsSupervisor(home: string, state: () => SupervisorState): Promise<boolean> {
  const names = await namesOf(home)
  const trusted = trustedUids(home)
  for (const name of names) {
    const server = await listening(name, state)
    if (server === null && isHeld(name, trusted)) return false
    if (server === null) continue
    // Another may have taken a later name while a stranger held this one: of two, none comes to begin here.
    if (names.some((other) => other !== name && isHeld(other, trusted))) {
      server.close()
      return false
    }
    return true
  }
  throw new CommandFailed('supervisor-name-taken', {
    detail: `Processes of other users of this machine hold all ${namesMax} socket names of the supervisor of ${home}.`,
    repair: 'As root, find them with: ss -xlp | grep flotilla-supervisor. Or start without -d.',
  })
}

/** Returns null if this home has no supervisor. What a process of another user answers is not read. */
export async function askSupervisor(home: string): Promise<SupervisorState | null> {
  const trusted = trustedUids(home)
  for (const name of await namesOf(home)) {
    const holder = trustedHolder(fs, name, trusted)
    if (holder === null) continue
    const state = stateSchema.safeParse(parseJsonLine(await answerOf(name)))
    // Read once more: the answer is that of the process which held the name before and after it.
    const isSame = trustedHolder(fs, name, trusted)?.pid === holder.pid
    if (state.success && isSame && state.data.pid === holder.pid && (await isSupervisor(holder.pid)))
      return state.data
  }
  return null
}

/** Whether a process is alive and a supervisor: process ids are reused. */
export async function isSupervisor(pid: number): Promise<boolean> {
  const words = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  return words.split('\0').includes(superviseWord)
}

/** Root, the user of this process, and the owner of the home. */
function trustedUids(home: string): readonly number[] {
  const own = [0, process.getuid?.() ?? 0]
  try {
    return [...own, fs.statSync(home).uid]
  } catch {
    return own // The home is not there, or its disk cannot be read now.
  }
}

function isHeld(name: string, trusted: readonly number[]): boolean {
  return trustedHolder(fs, name, trusted) !== null
}

/** Null where the name is taken. Rejects with every other error. */
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

/** The abstract sockets of the supervisor of a home, in the order in which they are tried. */
export async function namesOf(home: string): Promise<readonly string[]> {
  const place = await realpath(home).catch(() => home)
  const hash = createHash('sha256').update(place).digest('hex').slice(0, 32)
  return Array.from({ length: namesMax }, (_, index) => `\0flotilla-supervisor-${hash}-${index}`)
}

function answerOf(name: string): Promise<string> {
  return new Promise((resolve) => {
    let said = ''
    const socket = connect(name)
    const end = (): void => {
      socket.destroy()
      resolve(said)
    }
    socket.setTimeout(answerMaxMs, end)
    socket.on('data', (piece: Buffer) => {
      said += piece.toString('utf8')
      if (said.length > answerMaxChars) end()
    })
    socket.on('end', end).on('error', end)
  })
}
