import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { Problem } from '@flotilla/protocol/problem'
import type { RuntimeName } from '@flotilla/protocol/runtime-names'
import * as z from 'zod'
import { writeFileAtomically } from '@flotilla/foundation/config'
import type { Environment } from '@flotilla/foundation/config'
import { productVersion } from '@flotilla/foundation/platform'

const namespaceUsual = 'flotilla'
/** Path of our seccomp profile below the kubelet's own, and the name for the runtime's default profile. */
const profileUsual = 'flotilla.json'
const runtimeProfile = 'runtime-default'

/** The agent image in a cluster, as `flotilla image` names it. */
export const clusterImage = `flotilla.local/agent:${productVersion}`
/** The mesh image in a cluster. */
export const meshImage = `flotilla.local/mesh:${productVersion}`

const notedSchema = z.strictObject({
  /** The context of the kubeconfig; null for its current context. */
  context: z.string().nullable(),
  namespace: z.string(),
})

export type NotedCluster = z.infer<typeof notedSchema>

/** The cluster that the home has recorded for its agents; null if they never ran in one. */
export function notedCluster(path: string): NotedCluster | null {
  try {
    return notedSchema.parse(JSON.parse(readFileSync(path, 'utf8')))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw new Problem('unprocessable', {
      detail: `${path}, the file that names the cluster of this home's agents, cannot be read`,
      repair: `Write {"context": null, "namespace": "${namespaceUsual}"} into the file, with the context and namespace of the cluster that has the agents.`,
      cause: error,
    })
  }
}

/** The runtime for the agents of a home, as its start chooses it. */
export function runtimeKind(
  environment: Pick<Environment, 'runtime'>,
  noted: NotedCluster | null,
): RuntimeName {
  return environment.runtime ?? (noted === null ? 'docker' : 'kubernetes')
}

/**
 * Throws the problem `conflict` if agents whose data is in a cluster would be started on this machine, where they
 * would have no data.
 */
export function refuseElsewhere(environment: Pick<Environment, 'runtime'>, noted: NotedCluster | null): void {
  if (noted === null || runtimeKind(environment, noted) === 'kubernetes') return
  throw new Problem('conflict', {
    detail: `the agents of this home and their data are in ${placeWords(noted)}, so they cannot start with runtime ${environment.runtime}`,
    repair: elsewhereRepair('Leave out --runtime and FLOTILLA_RUNTIME'),
  })
}

const elsewhereRepair = (leave: string): string =>
  `${leave}; or move the fleet: flotilla backup, then flotilla restore into another home.`

/** Recorded as soon as agents may exist in the cluster, because their data exists only there. */
export async function noteCluster(path: string, { context, namespace }: AgentsCluster): Promise<void> {
  const noted: NotedCluster = { context: context ?? null, namespace }
  await writeFileAtomically(path, JSON.stringify(noted), 0o600)
}

/** The path that `kubectl` would use; undefined if only a pod's service account is available. */
export function usualKubeconfig(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const file = join(homedir(), '.kube', 'config')
  return env['KUBECONFIG'] || (existsSync(file) ? file : undefined)
}

/** The file in which a pod finds the name of its own namespace. */
const ownNamespaceFile = '/var/run/secrets/kubernetes.io/serviceaccount/namespace'

/** How pods reach the mesh. Throws the problem `unprocessable` for a Service if the mesh is not a pod. */
export function meshInCluster({ address, service }: Pick<Environment['kubernetes'], 'address' | 'service'>) {
  return {
    ...(address === null ? {} : { meshAddress: address }),
    ...(service === null ? {} : { service: { address: service, namespace: ownNamespace() } }),
  }
}

function ownNamespace(): string {
  try {
    return readFileSync(ownNamespaceFile, 'utf8').trim()
  } catch (cause) {
    throw new Problem('unprocessable', {
      detail: `FLOTILLA_KUBERNETES_SERVICE is set, which only a mesh in a pod with a service account may use, and the file ${ownNamespaceFile} does not exist`,
      repair: 'Unset FLOTILLA_KUBERNETES_SERVICE, or run the mesh in a pod (docs/operations/kubernetes.md).',
      cause,
    })
  }
}

export type AgentsCluster = ReturnType<typeof agentsCluster>

/**
 * The cluster and the settings of its agents. Throws the problem `conflict` if the agents run in another cluster.
 * Pure.
 */
export function agentsCluster(asked: Environment['kubernetes'], noted: NotedCluster | null) {
  const context = asked.context ?? noted?.context ?? null
  const namespace = asked.namespace ?? noted?.namespace ?? namespaceUsual
  if (noted !== null && (context !== noted.context || namespace !== noted.namespace)) {
    throw new Problem('conflict', {
      detail: `the agents of this home and their data are in ${placeWords(noted)}, so they cannot start in ${placeWords({ context, namespace })}`,
      repair: elsewhereRepair('Leave out --context and --namespace'),
    })
  }
  const path = asked.seccomp ?? profileUsual
  return {
    context: context ?? undefined,
    namespace,
    image: asked.image ?? clusterImage,
    seccomp:
      path === runtimeProfile
        ? ({ kind: 'runtime-default' } as const)
        : ({ kind: 'localhost', path } as const),
  }
}

function placeWords({ context, namespace }: NotedCluster): string {
  return `namespace ${namespace} of ${context === null ? 'the current context' : `context ${context}`}`
}
