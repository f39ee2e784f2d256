import { agentExitCodes } from '@flotilla/protocol/agent-exit'
import { compose } from './compose.ts'
import { takeDoorToken } from './door-token.ts'
import { readEnvironment } from './environment.ts'
import { createLog } from './log.ts'
import { systemClock } from './system-clock.ts'

/** Time to let go at SIGTERM; whoever stops us waits little longer. */
const stopMaxMs = 1500

const log = createLog(systemClock)

try {
  serve()
} catch (error) {
  log.error({ err: error }, 'the agent could not start; the process ends')
  process.exit(1)
}

function serve(): void {
  const environment = readEnvironment(process.env)
  const doorToken = takeDoorToken({
    briefing: environment.briefingDirectory,
    data: environment.dataDirectory,
  })
  const cannotWrite = (err: unknown): void => {
    log.error({ err }, 'the agent could not write its state; the process ends and the mesh starts it again')
    process.exit(agentExitCodes.cannotWrite)
  }
  const agent = compose({ environment, doorToken, cannotWrite, clock: systemClock, log })
  agent.server.on('error', (err) => {
    log.error({ err }, 'the agent could not listen on its port; the process ends')
    process.exit(1)
  })
  const host = environment.listenHost
  agent.server.listen({ port: environment.port, ...(host === '' ? {} : { host }) }, () => {
    const address = agent.server.address()
    const port = typeof address === 'object' ? address?.port : environment.port
    log.info({ agentId: environment.agentId, port }, 'the agent listens and takes runs')
  })
  const stop = (signalName: string): void => {
    log.info({ signalName }, 'the agent was told to stop; a run at work is left at its checkpoint')
    setTimeout(() => process.exit(0), stopMaxMs).unref()
    void agent.stop().then(() => process.exit(0))
  }
  process.on('uncaughtException', (err) => {
    log.error({ err }, 'an error was caught nowhere; the process ends and the mesh starts it again')
    process.exit(1)
  })
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
}
