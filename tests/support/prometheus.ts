import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { debianPrograms } from './debian-package.ts'
import { eventually } from './eventually.ts'
import { heldPort } from './held-port.ts'

/** Returns the distribution's Prometheus, unpacked into a folder if not installed; null if the download fails. */
export function fetchPrometheus(folder: string): Promise<string | null> {
  return debianPrograms(folder, ['prometheus'], 'prometheus')
}

export interface Prometheus {
  readonly url: string
  stop(): Promise<void>
}

/** Starts Prometheus on loopback with this configuration and data in `folder`. Resolves once it is ready. */
export async function startPrometheus(options: {
  readonly programs: string
  readonly configuration: string
  readonly folder: string
}): Promise<Prometheus> {
  const url = `http://127.0.0.1:${await heldPort()}`
  const child = spawn(
    join(options.programs, 'prometheus'),
    [
      `--config.file=${options.configuration}`,
      `--storage.tsdb.path=${join(options.folder, 'tsdb')}`,
      `--web.listen-address=${new URL(url).host}`,
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let text = ''
  child.stderr.on('data', (piece: Buffer) => (text = (text + piece.toString()).slice(-4000)))
  const ended = once(child, 'exit')
  await eventually('Prometheus is ready', async () => {
    if (child.exitCode !== null) throw new Error(`Prometheus ended with ${child.exitCode}: ${text}`)
    const reply = await fetch(`${url}/-/ready`).catch(() => null)
    return reply?.ok === true || null
  })
  return {
    url,
    stop: async () => {
      child.kill('SIGKILL')
      await ended
    },
  }
}
