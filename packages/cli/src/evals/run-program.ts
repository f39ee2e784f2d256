import { spawn } from 'node:child_process'
import process from 'node:process'

const outputMaxChars = 2000
const killGraceMs = 2000

/**
 * Runs a program of the owner with `input` on its standard input. Returns null for exit code 0, else the reason
 * with the end of its output.
 */
export function runProgram(
  command: string,
  options: {
    readonly input: string
    readonly folder: string
    readonly timeoutMs: number
    readonly signal: AbortSignal
  },
): Promise<string | null> {
  return new Promise<string | null>((resolve) => {
    const bounded = AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs)])
    const child = spawn('sh', ['-c', command], {
      cwd: options.folder,
      env: process.env,
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    })
    child.once('error', (error) => end(`the program could not be run: ${error.message}`))
    // Without open files, Node gives the program no pipes, whatever its types say, and emits the error.
    const { stdin, stdout, stderr } = child as Partial<typeof child>
    let output = ''
    const append = (piece: Buffer) => {
      output = `${output}${piece.toString()}`.slice(-outputMaxChars)
    }
    stdout?.on('data', append)
    stderr?.on('data', append)
    // A program that reads nothing closes its input, which is allowed.
    stdin?.on('error', () => undefined)
    stdin?.end(options.input)
    const kill = () => {
      endGroup(child.pid, 'SIGTERM')
      setTimeout(() => endGroup(child.pid, 'SIGKILL'), killGraceMs).unref()
    }
    bounded.addEventListener('abort', kill, { once: true })
    const end = (failure: string | null) => {
      bounded.removeEventListener('abort', kill)
      resolve(failure)
    }
    child.once('close', (code) => {
      if (bounded.aborted) end(`the program took longer than ${options.timeoutMs / 1000} s`)
      else end(code === 0 ? null : `the program ended with ${code}: ${output.trim() || 'no output'}`)
    })
  }).catch((error: unknown) => `the program could not be run: ${String(error)}`)
}

function endGroup(pid: number | undefined, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // It has ended.
  }
}
