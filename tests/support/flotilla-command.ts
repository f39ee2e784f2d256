import { spawn } from 'node:child_process'
import { homedir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { text } from 'node:stream/consumers'
import { cliProgram } from './programs.ts'

/** Those of this user: what one command has compiled, the next has whatever its home. */
const caches = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache')

export interface CommandResult {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Runs the command line in a process of its own against a mesh at `url`, or on a home. */
export function flotilla(
  at: { readonly url?: string; readonly home: string },
  ...words: readonly string[]
): Promise<CommandResult> {
  return flotillaWith(at, ...words)
}

/** As `flotilla`, with what it reads from standard input, and more in its environment. */
export async function flotillaWith(
  at: {
    readonly url?: string
    readonly home: string
    readonly input?: string
    readonly environment?: Readonly<Record<string, string>>
  },
  ...words: readonly string[]
): Promise<CommandResult> {
  const place = at.url === undefined ? [] : ['--url', at.url]
  const child = spawn(process.execPath, [cliProgram, ...words, ...place], {
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: at.home,
      FLOTILLA_HOME: at.home,
      XDG_CACHE_HOME: caches,
      ...at.environment,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  // A command that reads nothing may have ended before.
  child.stdin.on('error', () => undefined).end(at.input ?? '')
  const ended = new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? -1)))
  const [code, out, err] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
  return { code, out, err }
}
