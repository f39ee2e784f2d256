import * as fs from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { builtProgram, packedFile } from '@flotilla/protocol/built-program'
import { cachesFolder, compiledModulesFolder } from '@flotilla/protocol/compiled-modules'
import type { CommandContext } from './commands/command-context.ts'
import type { DataPaths } from '../config/index.ts'
import type { Log } from '../platform/index.ts'
import { createDockerRuntime, createProcessRuntime } from '../sandbox/index.ts'
import type { SandboxRuntime } from '../sandbox/index.ts'
import { systemClock } from '../platform/index.ts'

/** The port that the forward proxy listens on, beside the agent door. */
export const proxyPort = 8421

export interface RuntimeParts {
  readonly context: CommandContext
  readonly homeId: string
  readonly paths: DataPaths
  readonly log: Log
}

/** Containers, unless the owner asked for plain processes by name. */
export function chooseRuntime({ context, homeId, paths, log }: RuntimeParts): SandboxRuntime {
  const { environment, env, repositoryRoot, uid } = context
  const agentEntry =
    packedFile(fs, repositoryRoot, 'agent/agent.cjs') ??
    join(repositoryRoot, 'packages', 'agent', 'src', 'main.ts')
  if (environment.runtime === 'process') {
    return createProcessRuntime({
      dataRoot: paths.agentsFolder,
      nodePath: process.execPath,
      agentEntry: builtProgram(fs, repositoryRoot, 'agent') ?? agentEntry,
      path: env['PATH'] ?? '/usr/bin:/bin',
      compiledModules: compiledModulesFolder(env['XDG_CACHE_HOME'], homedir()),
      clock: systemClock,
    })
  }
  const caches = cachesFolder(env['XDG_CACHE_HOME'], homedir())
  return createDockerRuntime({
    homeId,
    uid,
    engineSocket: environment.engineSocket ?? undefined,
    dockerHost: env['DOCKER_HOST'],
    noInstall: environment.noInstall,
    stateDirectory: join(caches, 'flotilla', 'engine'),
    cacheDirectory: join(caches, 'flotilla', 'images'),
    recipeDirectory: join(repositoryRoot, 'images', 'agent'),
    packageDirectory: repositoryRoot,
    agentEntry,
    baseImage: env['FLOTILLA_BASE_IMAGE'],
    volumesFolder: paths.volumesFolder,
    path: env['PATH'] ?? '',
    browser: {
      recipeDirectory: join(repositoryRoot, 'images', 'browser'),
      browserEntry:
        packedFile(fs, repositoryRoot, 'browser/browser.cjs') ??
        join(repositoryRoot, 'packages', 'browser', 'src', 'main.ts'),
      proxyPort,
    },
    doorPorts: [environment.agentPort, proxyPort],
    clock: systemClock,
    log,
  })
}
