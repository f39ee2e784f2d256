import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { connect } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { freePort } from './free-port.ts'
import { openLine } from './http-line.ts'

const readyTimeoutMs = 60_000
const askEveryMs = 100

export interface RivalInspector {
  /** Opens a TLS connection to the site through the proxy, which terminates TLS in between. */
  open(sitePort: number): Promise<TLSSocket>
  close(): Promise<void>
}

/**
 * Starts `mitmdump` of mitmproxy, from the PATH, as a process of its own. It does not check the certificate of the
 * site, which is less work than the mesh does. Throws if it is not installed or does not start.
 */
export async function startRivalInspector(folder: string): Promise<RivalInspector> {
  const port = await freePort()
  const settings = ['--set', `confdir=${folder}`, '--set', 'flow_detail=0', '--set', 'stream_large_bodies=1m']
  const child = spawn(
    'mitmdump',
    ['-q', '--listen-host', '127.0.0.1', '--listen-port', `${port}`, '--ssl-insecure', ...settings],
    { stdio: 'ignore' },
  )
  const ended = once(child, 'close')
  // A program that is not installed rejects this too; `spawn` below reports it.
  ended.catch(() => {})
  await once(child, 'spawn')
  const close = async () => {
    child.kill()
    await ended
  }
  const end = performance.now() + readyTimeoutMs
  for (;;) {
    try {
      const line = await openLine('127.0.0.1', port)
      line.close()
      break
    } catch (error) {
      if (child.exitCode !== null || performance.now() > end) {
        await close()
        throw error
      }
      await delay(askEveryMs)
    }
  }
  const ca = await readFile(join(folder, 'mitmproxy-ca-cert.pem'), 'utf8')
  return {
    open: async (sitePort) => {
      const asked = request({ host: '127.0.0.1', port, method: 'CONNECT', path: `localhost:${sitePort}` })
      asked.end()
      const [, socket] = await once(asked, 'connect')
      const client = connect({ socket, servername: 'localhost', ca })
      await once(client, 'secureConnect')
      return client
    },
    close,
  }
}
