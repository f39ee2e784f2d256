import * as fs from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { builtProgram, packedFile } from '@flotilla/protocol/built-program'
import { compiledModulesFolder } from '@flotilla/protocol/compiled-modules'
import {
  agentsCluster,
  meshInCluster,
  noteCluster,
  notedCluster,
  runtimeKind,
  usualKubeconfig,
} from './choose-cluster.ts'
import type { CommandContext } from './commands/command-context.ts'
import { imageParts } from './image-parts.ts'
import type { DataPaths } from '@flotilla/foundation/config'
import type { Log } from '@flotilla/foundation/platform'
import type { SandboxRuntime } from '@flotilla/fleet/sandbox'
import { systemClock } from '@flotilla/foundation/platform'

/** Default port of the forward proxy, at the same address as the agent API. */
export const proxyPort = 8421

export interface RuntimeParts {
  readonly context: CommandContext
  readonly homeId: string
  readonly paths: DataPaths
  readonly log: Log
}

/**
 * Creates the runtime: containers on this machine, unless the owner chose another runtime or agents of this home
 * already run in a cluster. Only the chosen adapter is loaded. Rejects with the problem `conflict` if the owner chose
 * another cluster.
 */
export async function chooseRuntime({ context, homeId, paths, log }: RuntimeParts): Promise<SandboxRuntime> {
  const { environment, env, repositoryRoot } = context
  const noted = notedCluster(paths.clusterFile)
  const kind = runtimeKind(environment, noted)
  if (kind === 'kubernetes') {
    const { storageClass } = environment.kubernetes
    const cluster = agentsCluster(environment.kubernetes, noted)
    const { createKubernetesRuntime } = await import('@flotilla/fleet/sandbox/kubernetes')
    return createKubernetesRuntime({
      homeId,
      ...cluster,
      kubeconfig: usualKubeconfig(env),
      ...meshInCluster(environment.kubernetes),
      ...(storageClass === null ? {} : { storageClass }),
      meshPorts: [environment.agentPort, proxyPort],
      onPrepared: () => noteCluster(paths.clusterFile, cluster),
      clock: systemClock,
      log,
    })
  }
  if (kind === 'process') {
    const { createProcessRuntime } = await import('@flotilla/fleet/sandbox/process')
    return createProcessRuntime({
      dataRoot: paths.agentsFolder,
      nodePath: process.execPath,
      agentEntry: builtProgram(fs, repositoryRoot, 'agent') ?? imageParts(context, paths).agentEntry,
      path: env['PATH'] ?? '/usr/bin:/bin',
      compiledModules: compiledModulesFolder(env['XDG_CACHE_HOME'], homedir()),
      clock: systemClock,
    })
  }
  const { createDockerRuntime } = await import('@flotilla/fleet/sandbox/docker')
  return createDockerRuntime({
    ...imageParts(context, paths),
    packages: {
      recipeDirectory: join(repositoryRoot, 'images', 'packages'),
      hostPlaces: { userFolder: homedir(), variables: env },
      proxies: environment.proxies,
    },
    machineRecipeDirectory: join(repositoryRoot, 'images', 'machine'),
    homeId,
    path: env['PATH'] ?? '',
    browser: {
      recipeDirectory: join(repositoryRoot, 'images', 'browser'),
      browserEntry:
        packedFile(fs, repositoryRoot, 'browser/browser.cjs') ??
        join(repositoryRoot, 'packages', 'browser', 'src', 'main.ts'),
      proxyPort,
    },
    meshPorts: [environment.agentPort, proxyPort],
    log,
  })
}

/**
 * Deletes everything of this home that runtimes have. Plain processes of an earlier mesh may exist, whatever the runtime
 * is now, so both runtimes are erased.
 */
export async function eraseAgents(parts: RuntimeParts, progress: (step: string) => void): Promise<void> {
  const { context } = parts
  for (const runtime of new Set(['process', context.environment.runtime] as const)) {
    const environment = { ...context.environment, runtime }
    const adapter = await chooseRuntime({ ...parts, context: { ...context, environment } })
    try {
      await adapter.erase({ progress, signal: context.stopped })
    } finally {
      await adapter.close()
    }
  }
}
