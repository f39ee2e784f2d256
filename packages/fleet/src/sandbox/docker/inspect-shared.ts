import { readFile } from 'node:fs/promises'
import { findEngine } from '../engine/find-engine.ts'
import type { SocketHints } from '../engine/socket-candidates.ts'
import { nameServerState, type NameServerState } from '../network/close-name-server.ts'
import { sandboxHardening } from '../sandbox-spec.ts'

/** Reads for `doctor` what containers share through the kernel and the engine; changes nothing. */
export async function inspectShared(hints: SocketHints, uid: number) {
  const { engine } = await findEngine(hints).catch(() => ({ engine: null }))
  const names: NameServerState =
    engine === null
      ? { kind: 'none', why: 'no container engine answers' }
      : await nameServerState(engine, uid)
  return {
    names,
    watchers: await numberIn('/proc/sys/fs/inotify/max_user_instances'),
    watches: await numberIn('/proc/sys/fs/inotify/max_user_watches'),
    pipePages: await numberIn('/proc/sys/fs/pipe-user-pages-soft'),
    hostUser: userIn(await readFile('/etc/passwd', 'utf8').catch(() => '')),
  }
}

async function numberIn(path: string): Promise<number | null> {
  const text = (await readFile(path, 'utf8').catch(() => '')).trim()
  return /^\d+$/.test(text) ? Number(text) : null
}

/** Returns the name of the host user whose id equals that of agents in containers; null if none. Pure. */
function userIn(passwd: string): string | null {
  const fields = passwd.split('\n').map((line) => line.split(':'))
  return fields.find(([, , id]) => id === String(sandboxHardening.uid))?.[0] ?? null
}
