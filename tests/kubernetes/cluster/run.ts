import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'

/** Characters that an error keeps of the output of a failed program. */
const wordsMax = 2_000

/** Runs a program to its end and returns its output; rejects with the end of its output if it failed. */
export async function run(
  command: string,
  args: readonly string[],
  options: {
    readonly input?: string
    readonly cwd?: string
    readonly env?: NodeJS.ProcessEnv
    /** Also prints the output while the program runs. */
    readonly shown?: boolean
  } = {},
): Promise<string> {
  const child = spawn(command, args, {
    stdio: ['pipe', 'pipe', options.shown ? 'inherit' : 'pipe'],
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.env === undefined ? {} : { env: options.env }),
  })
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-wordsMax)
  })
  child.stdin?.on('error', () => undefined).end(options.input ?? '')
  const [code]: unknown[] = await once(child, 'close')
  if (code !== 0)
    throw new Error(`${command} ${args.join(' ').slice(0, 200)} ended with ${String(code)}: ${stderr}`)
  return stdout
}

/** Starts a program that keeps running. Its output goes into a file, and `onEnd` is called when it ends. */
export function keep(
  command: string,
  args: readonly string[],
  options: {
    readonly logFile: string
    readonly env?: NodeJS.ProcessEnv
    readonly onEnd?: (code: number | null) => void
  },
): ChildProcess {
  const log = openSync(options.logFile, 'a')
  const child = spawn(command, args, {
    stdio: ['ignore', log, log],
    ...(options.env === undefined ? {} : { env: options.env }),
  })
  closeSync(log)
  child.on('exit', (code) => options.onEnd?.(code))
  return child
}
