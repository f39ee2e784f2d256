import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import process from 'node:process'
import { programNodeFlags } from '@flotilla/protocol/built-program'
import { onTestFinished } from 'vitest'
import { meshCalls } from './mesh-calls.ts'
import type { MeshCalls } from './mesh-calls.ts'
import { meshArguments, pinnedNode } from './mesh-process.ts'

/** A mesh whose standard output the test chooses; the mesh reports to its parent process over a separate channel. */
export interface MeshOnOutput extends MeshCalls {
  readonly pid: number
  readonly child: ChildProcess
  isAlive(): boolean
}

/** Starts a mesh with the `process` runtime on a home and waits until it is ready; it is ended when the test ends. */
export async function startMeshOnOutput(options: {
  readonly home: string
  /** A file descriptor, or `pipe`, whose reader is `child.stdout`. */
  readonly output: number | 'pipe'
  readonly environment?: Readonly<Record<string, string>>
}): Promise<MeshOnOutput> {
  const { home, output } = options
  const words = meshArguments('serve', '--home', home, '--port', '0', '--runtime', 'process')
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('FLOTILLA_'))
  const child = spawn(pinnedNode, [...programNodeFlags, ...words], {
    stdio: ['ignore', output, output, 'ipc'],
    env: { ...Object.fromEntries(inherited), ...options.environment },
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  onTestFinished(async () => {
    child.kill('SIGTERM')
    const late = setTimeout(() => child.kill('SIGKILL'), 20_000)
    await ended
    clearTimeout(late)
  })
  const url = await new Promise<string>((resolve, reject) => {
    child.on('message', (line: Record<string, unknown>) => {
      if (line['ready'] === true) resolve(String(line['url']))
      if ('problem' in line) reject(new Error(JSON.stringify(line)))
    })
    void ended.then(() => reject(new Error('the mesh ended before it was ready')))
  })
  return {
    ...meshCalls(() => url),
    url,
    child,
    pid: child.pid ?? 0,
    isAlive: () => child.exitCode === null && child.signalCode === null,
  }
}
