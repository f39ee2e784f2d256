import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { flushCompileCache } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compose } from './compose.ts'
import { readEnvironment } from './environment.ts'
import type { Log } from './log.ts'
import { systemClock } from './system-clock.ts'

/**
 * For the building of an image: loads every part that is loaded late and answers one request, so that the
 * compile cache holds what a start and a first run need. Needs no token and ends the process.
 */
export async function warmUp(log: Log): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'warm-'))
  const environment = readEnvironment({
    FLOTILLA_AGENT_ID: 'warm-up',
    FLOTILLA_AGENT_KIND: 'worker',
    FLOTILLA_MESH_URL: 'http://127.0.0.1:9',
    FLOTILLA_MODEL: 'none',
    FLOTILLA_MESH_PUBLIC_KEY: 'A'.repeat(43),
    FLOTILLA_DATA: folder,
    FLOTILLA_BRIEFING: folder,
  })
  try {
    const agent = compose({ environment, doorToken: 'none', clock: systemClock, log })
    await new Promise<void>((resolve) => agent.server.listen(0, '127.0.0.1', resolve))
    const address = agent.server.address()
    const port = typeof address === 'object' && address ? address.port : 0
    await ask(port, '/healthz')
    await Promise.all([
      import('./compose-runs.ts'),
      import('./server/verify-signature.ts'),
      import('./loop/fingerprint.ts'),
      import('./loop/read-loop-state.ts'),
      import('@flotilla/protocol/agent-api'),
    ])
    await agent.stop()
    flushCompileCache()
    log.info({}, 'warmed up')
    process.exitCode = 0
  } catch (err) {
    log.error({ err }, 'the warm-up failed')
    process.exitCode = 1
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function ask(port: number, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path }, (reply) => {
      reply.resume().on('end', resolve)
    })
    sent.on('error', reject)
    sent.end()
  })
}
