import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { expect, onTestFinished } from 'vitest'
import { aCassette, says } from './cassettes.ts'
import { flotillaWith } from './flotilla-command.ts'
import { heldPort } from './held-port.ts'
import { meshCalls } from './mesh-calls.ts'
import type { MeshCalls } from './mesh-calls.ts'

/** A fleet of plain processes in the background, as `flotilla start -d` leaves it. */
export interface BackgroundFleet extends MeshCalls {
  readonly home: string
  readonly logPath: string
  readonly flotilla: (...words: readonly string[]) => ReturnType<typeof flotillaWith>
  /** Starts it in the background, always on the same port. */
  start(): ReturnType<typeof flotillaWith>
  /** The process id that the mesh answers with; 0 while none answers. */
  meshPid(): Promise<number>
  /** Whether the mesh takes new work. */
  isReady(): Promise<boolean>
}

export interface BackgroundFleetOptions {
  /** Mounts a file system over the home before anything is written; returns what undoes its faults and unmounts it. */
  readonly mount?: (home: string) => {
    readonly heal: () => Promise<void> | void
    readonly unmount: () => void
  }
  readonly environment?: Readonly<Record<string, string>>
}

const cassette = aCassette({ turns: [says('Yes.')] })

/** Starts the fleet; it is stopped and deleted when the test ends. */
export async function backgroundFleet(options: BackgroundFleetOptions = {}): Promise<BackgroundFleet> {
  const home = mkdtempSync(join(tmpdir(), 'flotilla-flow-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }))
  const mounted = options.mount?.(home)
  if (mounted) onTestFinished(mounted.unmount)
  for (const name of ['config', 'cassettes']) mkdirSync(join(home, name))
  writeFileSync(join(home, 'config', 'settings.json'), JSON.stringify({ default_model: 'scripted/calm' }))
  writeFileSync(join(home, 'cassettes', 'calm.json'), JSON.stringify(cassette))
  const environment = options.environment ?? {}
  const flotilla = (...words: readonly string[]) => flotillaWith({ home, environment }, ...words)
  onTestFinished(async () => {
    await mounted?.heal()
    await flotilla('stop')
  })
  const port = `${await heldPort()}`
  const start = () => flotilla('start', '-d', '--runtime', 'process', '--port', port, '--json')
  const started = await start()
  expect(started.code, started.err).toBe(0)
  const calls = meshCalls(() => `http://127.0.0.1:${port}`)
  return {
    ...calls,
    url: calls.url,
    home,
    logPath: join(home, 'data', 'mesh.log'),
    flotilla,
    start,
    // A mesh that was stopped has removed its address.
    meshPid: async () => {
      if (!existsSync(join(home, 'data', 'mesh.json'))) return 0
      return calls.call(meshHumanEndpoints.status, { timeoutMs: 2000 }).then(
        (reply) => Number(reply.json()['pid']),
        () => 0,
      )
    },
    isReady: () =>
      calls.call(meshHumanEndpoints.readyz, { timeoutMs: 5000, reuses: false }).then(
        ({ status }) => status === 200,
        () => false,
      ),
  }
}

/** The log of a fleet; empty while it cannot be read. */
export function logOf({ logPath }: Pick<BackgroundFleet, 'logPath'>): string {
  try {
    return readFileSync(logPath, 'utf8')
  } catch {
    return ''
  }
}
