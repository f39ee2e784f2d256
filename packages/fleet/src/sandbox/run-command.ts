import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'

/** How many bytes of each output stream are kept; earlier output is dropped. */
const outputMaxBytes = 256 * 1024

export interface CommandResult {
  /** Exit code of the program; 127 if the program does not exist, 128 if a signal ended it. */
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/**
 * Runs a program without a shell and waits for its end. Never rejects: a program that is missing, that fails or
 * that outlives `timeoutMs` is a result with a code other than 0.
 */
export function runCommand(
  command: string,
  args: readonly string[],
  options: { readonly timeoutMs: number; readonly cwd?: string; readonly signal?: AbortSignal | undefined },
): Promise<CommandResult> {
  const deadline = AbortSignal.timeout(options.timeoutMs)
  const signal = options.signal ? AbortSignal.any([options.signal, deadline]) : deadline
  return new Promise<CommandResult>((resolve) => {
    // The system may also refuse the start at once, for want of memory: the promise then rejects.
    const child = spawn(command, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      signal,
      killSignal: 'SIGTERM',
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    })
    let stdout = ''
    let stderr = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      stdout = (stdout + text).slice(-outputMaxBytes)
    })
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-outputMaxBytes)
    })
    child.on('error', (error: NodeJS.ErrnoException) => {
      const code = error.code === 'ENOENT' ? 127 : 128
      resolve({ code, stdout, stderr: `${stderr}${error.message}` })
    })
    child.on('close', (code) => resolve({ code: code ?? 128, stdout, stderr }))
  }).catch((error: unknown) => ({
    code: 128,
    stdout: '',
    stderr: error instanceof Error ? error.message : String(error),
  }))
}

/**
 * Throws if a program could not start because too many files are open. Node then leaves out the pipes, contrary to
 * its types, and emits an error that would end the mesh, which has no listener for it.
 */
export function requirePipes(child: ChildProcess): void {
  if (child.stderr !== undefined) return
  child.once('error', () => undefined)
  throw Object.assign(new Error('no program can be started: too many files are open'), { code: 'EMFILE' })
}

/**
 * Returns the last output lines of a failed program, short enough for an error message; its exit code if it printed
 * nothing.
 */
export function lastWords(result: CommandResult): string {
  if (`${result.stdout}${result.stderr}`.trim() === '')
    return `the command ended with exit code ${result.code} without output`
  const lines = `${result.stdout}\n${result.stderr}`.split('\n').filter((line) => line.trim() !== '')
  return lines.slice(-5).join('\n').slice(-800)
}
