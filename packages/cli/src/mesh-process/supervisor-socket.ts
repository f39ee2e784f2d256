import { createHash } from 'node:crypto'
import { readFile, realpath } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import * as z from 'zod/mini'
import { parseJsonLine } from './mesh-lines.ts'
import { superviseWord } from './supervise-word.ts'

/** What the supervisor of a home says of itself and its mesh. */
const stateSchema = z.looseObject({
  /** Of the supervisor. */
  pid: z.int().check(z.positive()),
  /** 0 while no mesh runs. */
  mesh_pid: z.int(),
  restarts: z.int(),
  /** In words; null where no mesh of it has ended. */
  last_exit: z.nullable(z.string()),
  last_exit_at: z.nullable(z.number()),
  /** When the next mesh is started; null while one runs. */
  next_start_at: z.nullable(z.number()),
})
export type SupervisorState = z.infer<typeof stateSchema>

const answerMaxMs = 2000
const answerMaxChars = 4096
const askersMax = 16

/**
 * Answers every caller with the state. The socket has no file: it is there also while the disk of the home is full or
 * read-only, and the kernel takes it away with the process. False where the home has a supervisor already.
 */
export async function answerAsSupervisor(home: string, state: () => SupervisorState): Promise<boolean> {
  const name = await socketOf(home)
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    socket.setTimeout(answerMaxMs, () => socket.destroy())
    socket.end(`${JSON.stringify(state())}\n`, () => socket.destroy())
  })
  server.maxConnections = askersMax
  return new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(name, () => {
      server.unref()
      resolve(true)
    })
  })
}

/** Returns null if this home has no supervisor. Other users can take the socket name, so the process is checked too. */
export async function askSupervisor(home: string): Promise<SupervisorState | null> {
  const said = await answerOf(await socketOf(home))
  const state = stateSchema.safeParse(parseJsonLine(said))
  if (!state.success || !(await isSupervisor(state.data.pid))) return null
  return state.data
}

/** Whether a process lives and is a supervisor: process ids are used again. */
export async function isSupervisor(pid: number): Promise<boolean> {
  const words = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  return words.split('\0').includes(superviseWord)
}

async function socketOf(home: string): Promise<string> {
  const place = await realpath(home).catch(() => home)
  return `\0flotilla-supervisor-${createHash('sha256').update(place).digest('hex').slice(0, 32)}`
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
