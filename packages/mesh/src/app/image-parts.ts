import * as fs from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { packedFile } from '@flotilla/protocol/built-program'
import { cachesFolder } from '@flotilla/protocol/compiled-modules'
import type { DataPaths } from '@flotilla/foundation/config'
import { systemClock } from '@flotilla/foundation/platform'
import type { CommandContext } from './commands/command-context.ts'

/** Returns the settings for finding the local engine and building the agent image. */
export function imageParts(
  { environment, env, repositoryRoot, uid }: CommandContext,
  paths: Pick<DataPaths, 'volumesFolder'>,
) {
  const caches = cachesFolder(env['XDG_CACHE_HOME'], homedir())
  return {
    uid,
    engineSocket: environment.engineSocket ?? undefined,
    dockerHost: env['DOCKER_HOST'],
    noInstall: environment.noInstall,
    stateDirectory: join(caches, 'flotilla', 'engine'),
    cacheDirectory: join(caches, 'flotilla', 'images'),
    recipeDirectory: join(repositoryRoot, 'images', 'agent'),
    packageDirectory: repositoryRoot,
    agentEntry:
      packedFile(fs, repositoryRoot, 'agent/agent.cjs') ??
      join(repositoryRoot, 'packages', 'agent', 'src', 'main.ts'),
    baseImage: env['FLOTILLA_BASE_IMAGE'],
    proxyVariables: environment.proxies.forPrograms(),
    volumesFolder: paths.volumesFolder,
    clock: systemClock,
  }
}
