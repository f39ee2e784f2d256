import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import process from 'node:process'

const strace = '/usr/bin/strace'
/** Only root can trace a process that it did not start. */
export const canInject = existsSync(strace) && process.getuid?.() === 0

/** System calls that write or change files, and never a socket: Node writes to sockets by other calls. */
const changingCalls =
  'pwrite64,fsync,fdatasync,ftruncate,fallocate,rename,renameat,renameat2,mkdir,mkdirat,unlink,unlinkat'

export interface InjectedFault {
  /** How many system calls met the fault so far. */
  hits(): number
  /** Ends the fault; the process goes on with calls that work. */
  end(): Promise<void>
}

/** What a system call does instead, as strace writes it: `error=EIO`, `delay_enter=300000` (microseconds). */
export interface FaultOfCalls {
  readonly effect: string
  readonly calls?: string
}

/** Makes system calls of all threads of a running process fail or wait, from now until `end`. */
export async function injectFault(pid: number, { effect, calls }: FaultOfCalls): Promise<InjectedFault> {
  const names = calls ?? changingCalls
  const tracing = spawn(
    strace,
    ['-f', '-p', `${pid}`, '-e', `trace=${names}`, '-e', 'signal=none', '-e', `inject=${names}:${effect}`],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let hits = 0
  let isAttached = false
  let said = ''
  const ended = once(tracing, 'exit')
  await new Promise<void>((resolve, reject) => {
    tracing.stderr.setEncoding('utf8').on('data', (piece: string) => {
      hits += piece.split(/\((?:INJECTED|DELAYED)\)/).length - 1
      if (isAttached) return
      said += piece
      if (/Process \d+ attached/.test(said)) {
        isAttached = true
        resolve()
      }
    })
    void ended.then(() => reject(new Error(`strace ended: ${said}`)))
  })
  return {
    hits: () => hits,
    end: async () => {
      if (tracing.exitCode !== null) return
      tracing.kill('SIGINT')
      await ended
    },
  }
}
