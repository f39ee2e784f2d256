import { join } from 'node:path'
import { browsingModules } from '@flotilla/browsing'
import { collaborationModules } from '@flotilla/collaboration'
import { egressModules } from '@flotilla/egress'
import { fleetModules } from '@flotilla/fleet'
import { identityModules } from '@flotilla/identity'
import { inboundModules } from '@flotilla/inbound'
import { inferenceModules, openModels } from '@flotilla/inference'
import { operationsModules } from '@flotilla/operations'
import { walletModules } from '@flotilla/wallet'
import { workModules } from '@flotilla/work'
import { chooseRuntime } from './choose-runtime.ts'
import { createKernel } from './create-kernel.ts'
import { loopLimits } from './loop-limits.ts'
import type { MeshSettings } from './mesh-settings.ts'
import { modulesOf } from './named-modules.ts'

/**
 * Creates each context from the kernel and the contexts below it. Decides and starts nothing; see `lifecycle.ts`.
 * `tests/package-rules.ts` states the order.
 */
export async function compose({ context, home, paths, log, fence }: MeshSettings) {
  const { environment, env, repositoryRoot, pid, program } = context
  const agentPort = environment.agentPort
  const { kernel, foundation, access, secrets } = await createKernel({ env, paths, log, fence, agentPort })
  const { vault, meshSecret } = secrets
  const { editor, diskSpace, settings: settingsFile, journalKeeper, shares } = foundation
  const { briefsFolder } = paths
  const runtime = chooseRuntime({ context, homeId: home.homeId, paths, log })
  const models = openModels(kernel, {
    environment,
    vault,
    envFile: paths.envFile,
    cassetteFolders: [paths.cassettesFolder, join(repositoryRoot, 'cassettes')], // The owner's folder has precedence.
    refuseAbove: access.refuseAbove,
  })

  const identity = await identityModules(kernel, { editor, peopleFile: paths.peopleFile })
  const fleet = fleetModules(kernel, {
    access,
    runtime,
    isolationAtLeast: environment.isolation,
    meshSecret: meshSecret.reveal(),
    models: models.known,
    replies: { held: shares.held.replies, downloads: shares.held.downloads, loop: shares.replies },
    loopLimits: loopLimits(environment, kernel.settings()),
    briefsFolder,
  })
  const work = workModules(kernel, { fleet, access, diskSpace })
  const egress = await egressModules(kernel, {
    fleet,
    work,
    access,
    secrets,
    shares,
    runtime,
    environment,
    engineAddresses: [environment.engineSocket ?? '', env['DOCKER_HOST'] ?? ''],
    editor,
    credentialsFile: paths.credentialsFile,
  })
  const inference = inferenceModules(kernel, { fleet, work, egress, access, shares, models })
  const collaboration = collaborationModules(kernel, {
    identity,
    fleet,
    work,
    inference,
    shares,
    artifactsFolder: paths.artifactsFolder,
  })
  const browsing = browsingModules(kernel, {
    fleet,
    work,
    egress,
    inference,
    shares,
    runtime,
    env,
    briefsFolder,
    repositoryRoot,
  })
  const wallet = await walletModules(kernel, { fleet, work, egress, access, secrets, files: paths })
  const inbound = await inboundModules(kernel, {
    identity,
    fleet,
    work,
    inference,
    collaboration,
    secrets,
    runtime,
    settingsFile,
    editor,
    environment,
    files: paths,
  })
  const serving = { now: false }
  const below = { identity, fleet, work, egress, inference, collaboration, browsing, wallet, inbound }
  const operations = operationsModules(kernel, {
    contexts: below,
    measured: modulesOf(below),
    foundation: { settingsFile, diskSpace, journalKeeper },
    access,
    secrets,
    models,
    runtime,
    process: { pid, program, environment, env, repositoryRoot },
    home: { id: home.homeId, folder: paths.home },
    templateFolders: [paths.templatesFolder, join(repositoryRoot, 'templates')],
    serving,
  })
  const contexts = {
    identity,
    fleet,
    work,
    egress,
    inference,
    collaboration,
    browsing,
    wallet,
    inbound,
    operations,
  }
  return { kernel, foundation, access, context, paths, homeId: home.homeId, runtime, serving, contexts }
}

export type Composed = Awaited<ReturnType<typeof compose>>
