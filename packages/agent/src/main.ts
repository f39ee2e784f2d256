import { agentExitCodes } from '@flotilla/protocol/agent-exit'
import { compose } from './compose.ts'
import { takeDoorToken, takeLinkKey } from './door-token.ts'
import { readEnvironment } from './environment.ts'
import type { AgentEnvironment } from './environment.ts'
import { createLog } from './log.ts'
import type { MeshLink } from './mesh/mesh-link.ts'
import { systemClock } from './system-clock.ts'

/** Time for clean-up at SIGTERM; the caller of the stop waits only a little longer. */
const stopMaxMs = 1500

const log = createLog(systemClock)

const cannotStart = (error: unknown): void => {
  log.error({ err: error }, 'failed to start the agent; exiting')
  process.exit(1)
}

try {
  const environment = readEnvironment(process.env)
  const doorToken = takeDoorToken({ once: environment.onceDirectory, data: environment.dataDirectory })
  if (environment.link === null) serve({ environment, doorToken, link: null })
  else
    openLink(environment, environment.link)
      .then((link) => serve({ environment, doorToken, link }))
      .catch(cannotStart)
} catch (error) {
  cannotStart(error)
}

/** Only an agent whose mesh is on another machine loads the needed modules. */
async function openLink(
  { mesh, onceDirectory }: AgentEnvironment,
  { identity, proxyPort }: NonNullable<AgentEnvironment['link']>,
): Promise<MeshLink> {
  const key = takeLinkKey({ once: onceDirectory })
  const link = (await import('./mesh/mesh-link.ts')).createMeshLink({ identity, key, mesh })
  await link.relay([mesh.port, proxyPort])
  return link
}

function serve({
  environment,
  doorToken,
  link,
}: {
  readonly environment: AgentEnvironment
  readonly doorToken: string
  readonly link: MeshLink | null
}): void {
  const cannotWrite = (err: unknown): void => {
    log.error({ err }, 'failed to write the state of the agent; exiting, the mesh starts it again')
    process.exit(agentExitCodes.cannotWrite)
  }
  const agent = compose({ environment, doorToken, dial: link?.dial, cannotWrite, clock: systemClock, log })
  const { port, listenHost: host } = environment
  const listener =
    link?.listen(agent.server, { port, host }) ??
    agent.server.listen({ port, ...(host === '' ? {} : { host }) })
  listener.on('error', (err) => {
    log.error({ err }, 'failed to listen on the agent’s port; exiting')
    process.exit(1)
  })
  listener.on('listening', () => {
    const address = listener.address()
    const bound = typeof address === 'object' ? address?.port : port
    log.info({ agentId: environment.agentId, port: bound }, 'the agent listens and takes runs')
  })
  const stop = (signalName: string): void => {
    log.info({ signalName }, 'the agent is stopping; an active run stays at its checkpoint')
    setTimeout(() => process.exit(0), stopMaxMs).unref()
    link?.close()
    void agent.stop().then(() => process.exit(0))
  }
  process.on('uncaughtException', (err) => {
    log.error({ err }, 'uncaught exception; exiting, the mesh starts the process again')
    process.exit(1)
  })
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
}
