import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import type { Clock } from '@flotilla/protocol/clock'
import { clearSelections } from './clear-selections.ts'

/** An X display, and the VNC socket that shows it. */
export interface Screen {
  readonly display: string
  readonly socketPath: string
  /** Settles when the display has ended, whether requested or not. */
  readonly ended: Promise<void>
  /** Empties the clipboard and the primary selection. Rejects if the display does not answer. */
  clearSelections(): Promise<void>
  /** Stops the display's processes and removes its files. */
  close(): Promise<void>
}

export const screenSize = { width: 1280, height: 800 } as const

const display = 1
const openMaxMs = 15_000
const pollMs = 20
const endMaxMs = 3000
const files = {
  socket: '/tmp/vnc.sock',
  lock: `/tmp/.X${display}-lock`,
  x: `/tmp/.X11-unix/X${display}`,
} as const

/**
 * Starts Xvnc and a window manager on it. A container has one display, so the previous one is removed first, and a
 * failed start leaves nothing behind. Rejects with an Error that gives the reason.
 */
export async function openScreen(deps: {
  readonly clock: Clock
  readonly environment: Readonly<Record<string, string>>
  readonly program?: string
}): Promise<Screen> {
  clean()
  const server = start(deps.program ?? 'Xvnc', serverArguments, deps.environment)
  const ended = endOf(server)
  const end = async (): Promise<void> => {
    await stop(server, deps.clock)
    clean()
  }
  try {
    await waitForFiles(server, deps.clock)
  } catch (error) {
    await end()
    throw error
  }
  const manager = start('openbox', [], { ...deps.environment, DISPLAY: `:${display}` })
  return {
    display: `:${display}`,
    socketPath: files.socket,
    ended: ended.then(clean),
    clearSelections: () => clearSelections(files.x),
    close: async () => {
      await stop(manager, deps.clock)
      await end()
    },
  }
}

const serverArguments = [
  `:${display} -geometry ${screenSize.width}x${screenSize.height} -depth 24`,
  // Access is controlled by the permissions of the socket: only this service may open it.
  `-SecurityTypes None -rfbport -1 -rfbunixpath ${files.socket} -rfbunixmode 0600`,
  '-AlwaysShared -nolisten tcp -AcceptSetDesktopSize=0',
  // Text that is copied or selected in the browser is not sent to watchers.
  '-SendCutText=0 -SendPrimary=0',
].flatMap((some) => some.split(' '))

function start(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): ChildProcess {
  const child = spawn(program, args, { env, stdio: 'ignore' })
  // `endOf` handles the error of a missing program; this listener only keeps it from ending this process.
  child.on('error', () => undefined)
  return child
}

function endOf(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  })
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null
}

async function waitForFiles(server: ChildProcess, clock: Clock): Promise<void> {
  const begun = clock.now()
  while (!existsSync(files.socket) || !existsSync(files.x)) {
    if (hasEnded(server)) throw new Error('the display ended before it was open')
    if (clock.now() - begun > openMaxMs) throw new Error(`the display was not open after ${openMaxMs} ms`)
    await clock.sleep(pollMs)
  }
}

async function stop(child: ChildProcess, clock: Clock): Promise<void> {
  if (hasEnded(child)) return
  const ended = endOf(child)
  child.kill('SIGTERM')
  const patience = new AbortController()
  const late = clock.sleep(endMaxMs, patience.signal).then(
    () => child.kill('SIGKILL'),
    () => undefined,
  )
  await ended
  patience.abort()
  await late
}

function clean(): void {
  for (const path of Object.values(files)) rmSync(path, { force: true })
}
