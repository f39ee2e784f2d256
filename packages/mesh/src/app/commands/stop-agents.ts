import { rm } from 'node:fs/promises'
import { dataPaths, homeIdPath, lockHome, readTextFile } from '@flotilla/foundation/config'
import type { DataPaths } from '@flotilla/foundation/config'
import { systemClock } from '@flotilla/foundation/platform'
import { homeLabel } from '@flotilla/fleet/sandbox'
import type { SandboxRuntime } from '@flotilla/fleet/sandbox'
import { agentsCluster, notedCluster, runtimeKind, usualKubeconfig } from '../choose-cluster.ts'
import { chooseRuntime } from '../choose-runtime.ts'
import { requireNoMesh } from '../hold-ledger.ts'
import { commandLog } from './command-context.ts'
import type { CommandContext } from './command-context.ts'
import { queryOf } from './prune.ts'

/** How long an agent may take to end by itself before the mesh program kills the agent, milliseconds. */
const stopGraceMs = 5000

/**
 * Ends agents that a crashed mesh left running as plain processes, in containers or in pods; their data is kept. If
 * no engine answers, prints the command that ends them. Problem `home-in-use` while a mesh runs, on this machine or
 * another one; `SandboxError` if the cluster does not answer.
 */
export async function stopAgents(context: CommandContext): Promise<number> {
  const paths = dataPaths(context.environment.home)
  const lock = await lockHome(paths.home, { pid: context.pid, deed: 'stopping-agents' })
  try {
    const homeId = (await readTextFile(homeIdPath(paths)))?.trim() ?? ''
    const { ended, left } = await endAgents(context, { homeId, paths })
    // No agent of the crashed mesh is left, so its state file is deleted; a disk that takes no writes keeps it.
    if (left === null) await rm(paths.stateFile, { force: true }).catch(() => undefined)
    context.print({ ended, left })
    return 0
  } finally {
    await lock.release()
  }
}

interface EndedAgents {
  readonly ended: readonly string[]
  /** The command that ends agents that may still run; null if no agent may still run. */
  readonly left: string | null
}

async function endAgents(
  context: CommandContext,
  { homeId, paths }: { readonly homeId: string; readonly paths: DataPaths },
): Promise<EndedAgents> {
  const { environment } = context
  const noted = notedCluster(paths.clusterFile)
  const kind = runtimeKind(environment, noted)
  const log = commandLog(context)
  if (kind === 'process') {
    return { ended: await endAll(await chooseRuntime({ context, homeId, paths, log })), left: null }
  }
  if (kind === 'kubernetes') {
    const cluster = agentsCluster(environment.kubernetes, noted)
    // A mesh on another machine may have taken over the home and may use its pods.
    await requireNoMesh({ context, homeId, paths })
    const at = { ...cluster, kubeconfig: usualKubeconfig(context.env), clock: systemClock, log }
    const { stopKubernetesHome } = await import('@flotilla/fleet/sandbox/kubernetes')
    return { ended: await stopKubernetesHome({ ...at, homeId, graceMs: stopGraceMs }), left: null }
  }
  const { stopDockerHome } = await import('@flotilla/fleet/sandbox/docker')
  const { hints } = await queryOf(context)
  const stopped = await stopDockerHome(hints, { homeId, graceMs: stopGraceMs })
  const left = `docker ps --quiet --filter label=${homeLabel(homeId)} | xargs --no-run-if-empty docker stop`
  return { ended: stopped?.ended ?? [], left: stopped?.failed === 0 ? null : left }
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
