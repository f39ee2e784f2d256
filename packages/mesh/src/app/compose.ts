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
import { namedModules } from './named-modules.ts'

/**
 * Creates each context from the kernel and the contexts below it. Decides and starts nothing; see `lifecycle.ts`.
 * `tests/package-rules.ts` states the order.
 */
export async function compose({ context, home, paths, log, fence }: MeshSettings) {
  const { environment, env, repositoryRoot, pid, program } = context
  const { homeId } = home
  const { briefsFolder } = paths
  const opened = await createKernel({ context, paths, log, fence })
  const { kernel, identityEvents, foundation, access, secrets } = opened
  const runtime = await chooseRuntime({ context, homeId, paths, log })
  const models = openModels(kernel, {
    environment,
    vault: secrets.vault,
    envFile: paths.envFile,
    cassetteFolders: [paths.cassettesFolder, join(repositoryRoot, 'cassettes')], // The owner's folder has precedence.
    refuseAbove: access.refuseAbove,
  })

  const identity = await identityModules(kernel, {
    events: identityEvents,
    editor: foundation.editor,
    peopleFile: paths.peopleFile,
  })
  const fleet = fleetModules(kernel, {
    identity,
    access,
    foundation,
    runtime,
    isolationAtLeast: environment.isolation,
    meshSecret: secrets.meshSecret.reveal(),
    models: models.known,
    loopLimits: loopLimits(environment, kernel.settings()),
    files: paths,
  })
  const work = workModules(kernel, { identity, fleet, access, foundation })
  const egress = await egressModules(kernel, {
    identity,
    fleet,
    work,
    access,
    secrets,
    foundation,
    runtime,
    environment,
    engineAddresses: [environment.engineSocket ?? '', env['DOCKER_HOST'] ?? ''],
    home: { id: homeId, files: paths },
  })
  const inference = inferenceModules(kernel, { identity, fleet, work, egress, access, foundation, models })
  const collaboration = collaborationModules(kernel, {
    identity,
    fleet,
    work,
    egress,
    inference,
    foundation,
    artifactsFolder: paths.artifactsFolder,
  })
  const browsing = await browsingModules(kernel, {
    identity,
    fleet,
    work,
    egress,
    inference,
    foundation,
    runtime,
    env,
    briefsFolder,
    repositoryRoot,
  })
  const wallet = await walletModules(kernel, { identity, fleet, work, egress, access, secrets, files: paths })
  const inbound = await inboundModules(kernel, {
    identity,
    fleet,
    work,
    inference,
    collaboration,
    secrets,
    foundation,
    runtime,
    environment,
    files: paths,
  })
  const serving = { now: false }
  const contexts = { identity, fleet, work, egress, inference, collaboration, browsing, wallet, inbound }
  const operations = operationsModules(kernel, {
    contexts,
    measured: namedModules(contexts),
    foundation,
    access,
    secrets,
    models,
    runtime,
    process: { pid, program, environment, env, repositoryRoot },
    home: { id: homeId, folder: paths.home },
    templateFolders: [paths.templatesFolder, join(repositoryRoot, 'templates')],
    serving,
  })
  // Observers start first, so they close last and see the calls that end while other modules close.
  const observers = { modules: operations.observers }
  const modules = namedModules({ observers }).concat(namedModules(contexts), namedModules({ operations }))
  return {
    kernel,
    foundation,
    access,
    context,
    paths,
    homeId,
    runtime,
    serving,
    contexts,
    operations,
    modules,
  }
}

export type Composed = Awaited<ReturnType<typeof compose>>
