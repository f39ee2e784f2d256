import { spawn } from 'node:child_process'
import process from 'node:process'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { systemClock } from '@flotilla/client/system-clock'
import { readEnvironment } from '../../packages/cli/src/environment.ts'
import { keepText } from '../../packages/cli/src/fake-terminal.ts'
import { createInterrupts } from '../../packages/cli/src/interrupts.ts'
import { runWords } from '../../packages/cli/src/run-command-line.ts'
import { cliProgram, userCaches } from './programs.ts'

export interface CommandResult {
  readonly code: number
  readonly out: string
  readonly err: string
}

export interface CommandPlace {
  readonly home: string
  readonly input?: string
  readonly environment?: Readonly<Record<string, string>>
}

/**
 * Asks a mesh at `url` by a line of the command line, in this process; without it, one of its own works on the home.
 * `input` is what stands on standard input.
 */
export function flotilla(
  at: CommandPlace & { readonly url?: string },
  ...words: readonly string[]
): Promise<CommandResult> {
  return at.url === undefined ? flotillaWith(at, ...words) : saidHere({ ...at, url: at.url }, words)
}

/** What a process of its own does after its start, which costs more than most commands. */
async function saidHere(
  at: CommandPlace & { readonly url: string },
  words: readonly string[],
): Promise<CommandResult> {
  const [out, err] = [keepText(), keepText()]
  const code = await runWords([...words, '--url', at.url], {
    environment: readEnvironment({ ...environmentOf(at.home), ...at.environment }),
    out: { write: out.write },
    err: { write: err.write },
    input: Readable.from(at.input ? [Buffer.from(at.input)] : []),
    interrupts: createInterrupts(systemClock.now),
  })
  return { code, out: out.text(), err: err.text() }
}

const environmentOf = (home: string) => ({
  PATH: process.env['PATH'] ?? '',
  HOME: home,
  FLOTILLA_HOME: home,
  XDG_CACHE_HOME: userCaches,
})

/** Always in a process of its own. */
export async function flotillaWith(
  at: CommandPlace & { readonly url?: string },
  ...words: readonly string[]
): Promise<CommandResult> {
  const place = at.url === undefined ? [] : ['--url', at.url]
  const child = spawn(process.execPath, [cliProgram, ...words, ...place], {
    env: { ...environmentOf(at.home), ...at.environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  // A command that reads nothing may have ended before.
  child.stdin.on('error', () => undefined).end(at.input ?? '')
  const ended = new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? -1)))
  const [code, out, err] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
  return { code, out, err }
}
