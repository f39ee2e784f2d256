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
 * Runs a command line in this process, because a process start costs more than most commands. The command calls the
 * mesh at `url`, or the mesh of the home. `input` is the content of standard input.
 */
export async function flotilla(
  at: CommandPlace & { readonly url?: string },
  ...words: readonly string[]
): Promise<CommandResult> {
  const [out, err] = [keepText(), keepText()]
  const code = await runWords([...words, ...placeOf(at)], {
    environment: readEnvironment({ ...environmentOf(at.home), ...at.environment }),
    out: { write: out.write },
    err: { write: err.write },
    input: Readable.from(at.input ? [Buffer.from(at.input)] : []),
    interrupts: createInterrupts(systemClock.now),
  })
  return { code, out: out.text(), err: err.text() }
}

const placeOf = ({ url }: { readonly url?: string }): readonly string[] =>
  url === undefined ? [] : ['--url', url]

const environmentOf = (home: string) => ({
  PATH: process.env['PATH'] ?? '',
  HOME: home,
  FLOTILLA_HOME: home,
  XDG_CACHE_HOME: userCaches,
})

/** Runs a command line in a separate process. */
export async function flotillaWith(
  at: CommandPlace & { readonly url?: string },
  ...words: readonly string[]
): Promise<CommandResult> {
  const child = spawn(process.execPath, [cliProgram, ...words, ...placeOf(at)], {
    env: { ...environmentOf(at.home), ...at.environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  // A command that reads no input may have ended already.
  child.stdin.on('error', () => undefined).end(at.input ?? '')
  const ended = new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? -1)))
  const [code, out, err] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
  return { code, out, err }
}
