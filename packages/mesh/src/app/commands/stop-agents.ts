import { rm } from 'node:fs/promises'
import { dataPaths, homeIdPath, lockHome, readTextFile } from '../../config/index.ts'
import { createLog, openCommandOutput } from '../../platform/index.ts'
import { homeLabel } from '../../sandbox/index.ts'
import type { SandboxRuntime } from '../../sandbox/index.ts'
import { agentsCluster, notedCluster } from '../choose-cluster.ts'
import { chooseRuntime } from '../choose-runtime.ts'
import type { CommandContext } from './command-context.ts'

/** An agent may take so long to end by itself, milliseconds. */
const stopGraceMs = 5000

/**
 * Ends the agents that a crashed mesh has left running as plain processes; their data is kept. For agents in containers
 * or pods it tells the command that ends them. Problem `home-in-use` while a mesh runs.
 */
export async function stopAgents(context: CommandContext): Promise<number> {
  const paths = dataPaths(context.environment.home)
  const lock = await lockHome(paths.home, { pid: context.pid, deed: 'stopping-agents' })
  try {
    const homeId = (await readTextFile(homeIdPath(paths)))?.trim() ?? ''
    const { runtime: kind, kubernetes } = context.environment
    if (kind === 'process') {
      const log = createLog(context.environment.logLevel, openCommandOutput(context.pid))
      const runtime = chooseRuntime({ context, homeId, paths, log })
      const ended = await endAll(runtime)
      // Nothing of the crashed mesh is left; a disk that takes no writes keeps its note.
      await rm(paths.stateFile, { force: true }).catch(() => undefined)
      context.tell({ ended, left: null })
    } else {
      const label = homeLabel(homeId)
      const { namespace } = agentsCluster(kubernetes, notedCluster(paths.clusterFile))
      const left =
        kind === 'kubernetes'
          ? `kubectl --namespace ${namespace} delete pods --selector ${label}`
          : `docker ps --quiet --filter label=${label} | xargs --no-run-if-empty docker stop`
      context.tell({ ended: [], left })
    }
    return 0
  } finally {
    await lock.release()
  }
}

async function endAll(runtime: Pick<SandboxRuntime, 'list' | 'stop' | 'close'>): Promise<readonly string[]> {
  try {
    const running = (await runtime.list()).filter((state) => state.running)
    await Promise.all(running.map(({ agentId }) => runtime.stop(agentId, { graceMs: stopGraceMs })))
    return running.map(({ agentId }) => agentId)
  } finally {
    await runtime.close()
  }
}
