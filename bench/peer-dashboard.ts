import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from './free-port.ts'
import { startContender } from './processes.ts'

/** The measured version; figures hold only for it. */
export const peerVersion = '2026.9.6'
const readyMaxMs = 300_000
const askEveryMs = 500

export interface PeerDashboard {
  readonly url: string
  stop(): Promise<void>
}

/**
 * OpenClaw's gateway with its Control UI, without an account, channels or sessions. It is not a dependency: npm
 * installs its package into a cache folder without running its install scripts. Returns `why` if it cannot be
 * installed.
 */
export async function startPeerDashboard(options: {
  readonly folder: string
  readonly progress: (step: string) => void
  readonly signal: AbortSignal
}): Promise<PeerDashboard | { readonly why: string }> {
  const { folder, progress, signal } = options
  const cache = join(
    process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'),
    'flotilla',
    'bench-peers',
    `openclaw-${peerVersion}`,
  )
  const script = join(cache, 'node_modules', 'openclaw', 'openclaw.mjs')
  if (!existsSync(script)) {
    progress(`fetching openclaw ${peerVersion}, which takes some minutes the first time`)
    const fault = await fetchPeer(cache, signal)
    if (fault !== null) return { why: fault }
  }
  const port = await freePort()
  const home = join(folder, 'peer-home')
  await mkdir(home, { recursive: true })
  const contender = startContender({
    script,
    args: [
      'gateway',
      'run',
      '--allow-unconfigured',
      '--auth',
      'none',
      '--bind',
      'loopback',
      '--port',
      String(port),
    ],
    environment: { HOME: home, XDG_CACHE_HOME: join(home, '.cache'), NO_COLOR: '1' },
    core: null,
  })
  const url = `http://127.0.0.1:${port}/`
  const end = performance.now() + readyMaxMs
  while (performance.now() < end && contender.child.exitCode === null && !signal.aborted) {
    const status = await fetch(url).then(
      (reply) => reply.status,
      () => 0,
    )
    if (status === 200) return { url, stop: contender.stop }
    await delay(askEveryMs)
  }
  const why = `it did not answer: ${contender.lastWords()}`
  await contender.stop()
  return { why }
}

async function fetchPeer(cache: string, signal: AbortSignal): Promise<string | null> {
  await mkdir(cache, { recursive: true })
  await writeFile(join(cache, 'package.json'), '{"private":true}')
  const child = spawn(
    'npm',
    ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--save-exact', `openclaw@${peerVersion}`],
    { cwd: cache, stdio: 'ignore', signal },
  )
  const code = await once(child, 'exit').then(
    ([status]) => Number(status),
    () => -1,
  )
  return code === 0 ? null : `npm could not fetch openclaw@${peerVersion}`
}
