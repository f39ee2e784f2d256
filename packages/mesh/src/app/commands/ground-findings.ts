import { totalmem } from 'node:os'
import { Problem } from '@flotilla/protocol/problem'
import { permissionFileSchema } from '@flotilla/protocol/permission-record'
import {
  dataLimitBytes,
  defaultSettings,
  readJsonDocument,
  readSettingsFile,
  readTextFile,
} from '@flotilla/foundation/config'
import type { DataPaths } from '@flotilla/foundation/config'
import {
  dataFindings,
  failure,
  lostHomesFinding,
  ok,
  sharedFindings,
  sizeFindings,
  warning,
} from '@flotilla/operations/diagnostics'
import type { DoctorFinding } from '@flotilla/operations/diagnostics'
import { reserveBytes } from '@flotilla/fleet/agents'
import { besideAgents } from '@flotilla/fleet/sandbox'
import {
  inspectDataBound,
  inspectEngine,
  inspectShared,
  listVolumes,
  lostHomes,
} from '@flotilla/fleet/sandbox/docker'
import {
  agentsCluster,
  meshInCluster,
  notedCluster,
  runtimeKind,
  usualKubeconfig,
} from '../choose-cluster.ts'
import type { NotedCluster } from '../choose-cluster.ts'
import type { CommandContext } from './command-context.ts'
import { queryOf } from './prune.ts'

const mb = 1024 * 1024

/** Checks what the agents of this home need to run: engine, cluster and machine. */
export async function groundFindings(
  context: CommandContext,
  paths: DataPaths,
): Promise<readonly DoctorFinding[]> {
  try {
    const noted = notedCluster(paths.clusterFile)
    const kind = runtimeKind(context.environment, noted)
    if (kind === 'kubernetes') return [await cluster(context, noted)]
    if (kind === 'process') return [nothingIsolated, ...(await data(context, paths, kind))]
    const aboutEngine = await engine(context)
    // Without an engine nothing in it can be checked, and each check would wait for its answer again.
    if (aboutEngine.some(({ id, level }) => id === 'engine-answers' && level === 'error'))
      return [...aboutEngine, ...(await sizes(paths))]
    return [
      ...aboutEngine,
      ...(await data(context, paths, kind)),
      ...(await sizes(paths)),
      ...(await shared(context)),
      ...(await lost(context)),
    ]
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return [failure('cluster-known', error.detail, error.repair)]
  }
}

const nothingIsolated = warning(
  'engine-answers',
  'the runtime process was chosen, which does not isolate agents',
  'Start without --runtime process (flotilla start -d).',
)

/** Checks the cluster, but not the limit of agent data: only a start of the mesh creates the claim for that test. */
async function cluster(
  { environment, env }: CommandContext,
  noted: NotedCluster | null,
): Promise<DoctorFinding> {
  const { inspectCluster } = await import('@flotilla/fleet/sandbox/kubernetes')
  const found = await inspectCluster({
    ...agentsCluster(environment.kubernetes, noted),
    ...meshInCluster(environment.kubernetes),
    kubeconfig: usualKubeconfig(env),
  })
  const id = 'cluster-answers'
  return found.ok ? ok(id, found.detail) : failure(id, found.detail, found.repair)
}

const hintsOf = ({ environment, env, uid }: CommandContext) => ({
  uid,
  engineSocket: environment.engineSocket ?? undefined,
  dockerHost: env['DOCKER_HOST'],
})

async function engine(context: CommandContext): Promise<readonly DoctorFinding[]> {
  const found = await inspectEngine(hintsOf(context))
  return found.map(({ id, ok: good, detail, repair }) =>
    good ? ok(id, detail) : failure(id, detail, repair),
  )
}

async function data(context: CommandContext, paths: DataPaths, kind: 'docker' | 'process') {
  const settings = await readSettingsFile(paths.settingsFile).catch(() => defaultSettings)
  const bound =
    kind === 'process'
      ? ({ kind: 'meter', why: 'agents run as plain processes, without isolation' } as const)
      : await inspectDataBound(hintsOf(context), { uid: context.uid, path: context.env['PATH'] ?? '' })
  const volumes = await listVolumes(paths.volumesFolder)
  return dataFindings({
    meteredBecause: bound.kind === 'meter' ? bound.why : null,
    limitMb: settings.data_limit_mb,
    volumes: volumes.map((volume) => ({ ...volume, limitBytes: dataLimitBytes(settings, volume.agentId) })),
  })
}

/** Reports whether agents with a size of their own, a build and browsers can run at once. */
async function sizes(paths: DataPaths): Promise<readonly DoctorFinding[]> {
  const { agents } = await readSettingsFile(paths.settingsFile).catch(() => defaultSettings)
  return sizeFindings({
    availableBytes: totalmem() - reserveBytes,
    beside: [
      ...(Object.values(agents).some(({ packages }) => packages !== undefined)
        ? [{ name: 'a build of an image', memoryMb: besideAgents.build / mb }]
        : []),
      ...(await browserAgents(paths)).map((agentId) => ({
        name: `the browser of ${agentId}`,
        memoryMb: besideAgents.browser / mb,
      })),
    ],
    sizes: Object.entries(agents).flatMap(([agentId, { size }]) =>
      size?.memory_mb === undefined ? [] : [{ agentId, memoryMb: size.memory_mb }],
    ),
  })
}

/** Returns the agents that may use a browser; none for an invalid file, which another check reports. */
async function browserAgents({ permissionsFile }: DataPaths): Promise<readonly string[]> {
  const text = await readTextFile(permissionsFile).catch(() => null)
  const reading = text === null ? null : readJsonDocument(text, permissionFileSchema)
  if (reading?.ok !== true) return []
  return Object.entries(reading.document.value.permissions)
    .filter(([, record]) => record.can_use_browser)
    .map(([agentId]) => agentId)
}

async function shared(context: CommandContext): Promise<readonly DoctorFinding[]> {
  return sharedFindings(await inspectShared(hintsOf(context), context.uid))
}

/** Reports resources in the engine that belong to homes that no longer exist. */
async function lost(context: CommandContext): Promise<readonly DoctorFinding[]> {
  const homes = await lostHomes(await queryOf(context)).catch(() => null)
  return homes === null ? [] : [lostHomesFinding(homes)]
}
