import { createSocket } from 'node:dgram'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EscapeTargets, SkillEscape } from './skill-escapes.ts'

export const canary = 'canary-7f3e19c2'

/** Harmless results of an escape: they say that nothing was found. */
export const harmless: readonly unknown[] = [undefined, 'undefined', '1', 'skill:main']

export interface EscapeGround {
  readonly targets: EscapeTargets
  /** Everything that reached or changed this machine. */
  traces(): readonly string[]
  close(): Promise<void>
}

/** Creates a secret file, a free path, and a TCP and a UDP listener on one port. */
export async function escapeGround(): Promise<EscapeGround> {
  const folder = await mkdtemp(join(tmpdir(), 'escape-'))
  const targets = { secretFile: join(folder, 'secret'), newFile: join(folder, 'new'), port: 0 }
  await writeFile(targets.secretFile, canary)
  const received: string[] = []
  const tcp = createServer((socket) => {
    received.push('a connection')
    socket.destroy()
  })
  await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve))
  const { port } = tcp.address() as AddressInfo // it listens on a port
  const udp = createSocket('udp4', () => void received.push('a datagram'))
  await new Promise<void>((resolve) => udp.bind(port, '127.0.0.1', resolve))
  return {
    targets: { ...targets, port },
    traces: () => [...received, ...(existsSync(targets.newFile) ? ['a file'] : [])],
    close: async () => {
      tcp.close()
      udp.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Converts the source to JavaScript if possible, without the mesh's check. */
export function uncheckedCode(escape: SkillEscape, targets: EscapeTargets): string {
  const source = escape.source(targets)
  try {
    return stripTypeScriptTypes(source)
  } catch {
    return source
  }
}
