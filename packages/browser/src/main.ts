import { compose } from './compose.ts'
import { readEnvironment } from './environment.ts'
import { createLog } from './log.ts'
import { takeProxyToken } from './proxy-token.ts'
import { systemClock } from './system-clock.ts'

/** The time for an orderly end at SIGTERM; the mesh waits only slightly longer. */
const stopMaxMs = 8000

const log = createLog(systemClock)

serve().catch((err: unknown) => {
  log.error({ err }, 'failed to start the browser service; exiting')
  process.exit(1)
})

async function serve(): Promise<void> {
  const environment = readEnvironment(process.env)
  const token = takeProxyToken(environment.briefingDirectory)
  const { server, stop } = await compose({
    environment,
    token,
    path: process.env['PATH'] ?? '/usr/bin:/bin',
    clock: systemClock,
    log,
  })
  server.on('error', (err) => {
    log.error({ err }, 'failed to listen on the port of the browser service; exiting')
    process.exit(1)
  })
  server.listen(environment.port, () => {
    log.info({ agentId: environment.agentId, port: environment.port }, 'the browser service listens')
  })
  const end = (): void => {
    setTimeout(() => process.exit(0), stopMaxMs).unref()
    void stop().then(() => process.exit(0))
  }
  process.on('uncaughtException', (err) => {
    log.error({ err }, 'uncaught exception; exiting, the mesh starts the process again')
    process.exit(1)
  })
  process.once('SIGTERM', end)
  process.once('SIGINT', end)
}
