import { accessSync, constants } from 'node:fs'
import type { Server } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Clock } from '@flotilla/protocol/clock'
import type { RunParts } from './compose-runs.ts'
import type { AgentEnvironment } from './environment.ts'
import { createDataFiles } from './files/data-files.ts'
import type { Log } from '@flotilla/protocol/json-log'
import { createCheckpoints, createOutcomes } from './loop/run-files.ts'
import { createRunSlot } from './loop/run-slot.ts'
import { createSessions } from './loop/sessions.ts'
import { chatRoutes } from './server/chat.routes.ts'
import { conversationRoutes } from './server/conversation.routes.ts'
import { createGate } from './server/gate.ts'
import { heartbeatRoutes } from './server/heartbeat.routes.ts'
import { createHttpServer } from './server/http-server.ts'
import { memoryRoutes } from './server/memory.routes.ts'
import { runRoutes } from './server/run.routes.ts'
import { statusRoutes } from './server/status.routes.ts'
import { workspaceRoutes } from './server/workspace.routes.ts'
import { createWorkspace } from './workspace/workspace.ts'

export interface AgentProcess {
  readonly server: Server
  /** Rejects new work, leaves the current run at its checkpoint, and releases all resources. */
  stop(): Promise<void>
}

/**
 * The composition root. It loads only what is cheap; `compose-runs.ts` is loaded with the first run, so that
 * an idle agent starts fast and stays small.
 */
export function compose(deps: {
  environment: AgentEnvironment
  doorToken: string
  /** Opens a connection to a mesh on another machine. */
  dial?: (() => Duplex) | undefined
  /** Called when the agent cannot write its own state; ends the process. */
  cannotWrite: (error: unknown) => void
  clock: Clock
  log: Log
}): AgentProcess {
  const { environment, clock, log } = deps
  const { dataDirectory, briefingDirectory, initialInstructions, agentId, meshPublicKey, keepAliveMs } =
    environment
  let stopping = false
  let runParts: Promise<RunParts> | null = null

  const files = createDataFiles(dataDirectory)
  const workspace = createWorkspace({ files, briefingDirectory, initialInstructions, clock })
  const sessions = createSessions({ dataDirectory, clock })
  const checkpoints = createCheckpoints(dataDirectory)
  const outcomes = createOutcomes(dataDirectory)
  const loadRuns = (): Promise<RunParts> => {
    runParts ??= import('./compose-runs.ts').then(({ composeRuns }) =>
      composeRuns({ ...deps, files, workspace, sessions, checkpoints }),
    )
    return runParts
  }
  const execute = async (job: Parameters<RunParts['execute']>[0]) => (await loadRuns()).execute(job)
  const slot = createRunSlot({ ...deps, execute, outcomes, checkpoints })
  const whyNotReady = (): string | null => {
    if (stopping) return 'The agent is stopping.'
    try {
      accessSync(dataDirectory, constants.W_OK)
      return null
    } catch {
      return 'The data directory cannot be written to.'
    }
  }
  const server = createHttpServer({
    routes: {
      ...statusRoutes({
        environment,
        slot,
        checkpoints,
        abilities: loadRuns,
        whyNotReady,
        clock,
      }),
      ...chatRoutes({ slot, keepAliveMs }),
      ...conversationRoutes({
        slot,
        sessions,
        images: async () => (await import('./images/image-store.ts')).createImageStore(dataDirectory),
      }),
      ...runRoutes({ slot, keepAliveMs }),
      ...workspaceRoutes({ workspace, files }),
      ...memoryRoutes({ memory: async () => (await loadRuns()).memory }),
      ...heartbeatRoutes({ slot, keepAliveMs, workspace, files, dataDirectory, clock }),
    },
    gate: createGate({ agentId, meshPublicKey, doorToken: deps.doorToken, now: () => clock.now() }),
    log,
  })
  return {
    server,
    stop: async () => {
      stopping = true
      server.close()
      // Clients of the run see the connection break and ask for the outcome later.
      server.closeAllConnections()
      await slot.stop()
      await (await runParts)?.close()
    },
  }
}
