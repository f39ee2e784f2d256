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
/** Default path of the seccomp profile below the kubelet's profile folder; and the setting for the runtime's own. */
const profileUsual = 'flotilla.json'
const runtimeProfile = 'runtime-default'

/** Name of the agent image in a cluster, which `flotilla image` gives it. */
export const clusterImage = `flotilla.local/agent:${productVersion}`
/** The mesh image in a cluster. */
export const meshImage = `flotilla.local/mesh:${productVersion}`

const notedSchema = z.strictObject({
  /** Name of the context in the kubeconfig; null for its current context. */
  context: z.string().nullable(),
  namespace: z.string(),
})

export type NotedCluster = z.infer<typeof notedSchema>

/** Returns the cluster that the home has recorded for its agents; null if none of its agents ran in a cluster. */
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

/** Returns the kind of runtime that a start of the home chooses for its agents. */
export function runtimeKind(
  environment: Pick<Environment, 'runtime'>,
  noted: NotedCluster | null,
): RuntimeName {
  return environment.runtime ?? (noted === null ? 'docker' : 'kubernetes')
}

/**
 * Throws the problem `conflict` if this start would run agents on this machine although their data is in a cluster.
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

/** Records the cluster of a home, as soon as agents may exist in it, because their data exists only there. */
export async function noteCluster(path: string, { context, namespace }: AgentsCluster): Promise<void> {
  const noted: NotedCluster = { context: context ?? null, namespace }
  await writeFileAtomically(path, JSON.stringify(noted), 0o600)
}

/** Returns the kubeconfig path that `kubectl` would use; undefined if only a pod's service account exists. */
export function usualKubeconfig(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const file = join(homedir(), '.kube', 'config')
  return env['KUBECONFIG'] || (existsSync(file) ? file : undefined)
}

/** The file from which a pod reads the name of its own namespace. */
const ownNamespaceFile = '/var/run/secrets/kubernetes.io/serviceaccount/namespace'

/** Returns how pods reach the mesh. Problem `unprocessable` for a Service if the mesh itself is not a pod. */
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
 * Returns the cluster and the settings of its agents. Throws the problem `conflict` if the agents run in another
 * cluster. Pure.
 */
export function agentsCluster(configured: Environment['kubernetes'], noted: NotedCluster | null) {
  const context = configured.context ?? noted?.context ?? null
  const namespace = configured.namespace ?? noted?.namespace ?? namespaceUsual
  if (noted !== null && (context !== noted.context || namespace !== noted.namespace)) {
    throw new Problem('conflict', {
      detail: `the agents of this home and their data are in ${placeWords(noted)}, so they cannot start in ${placeWords({ context, namespace })}`,
      repair: elsewhereRepair('Leave out --context and --namespace'),
    })
  }
  const path = configured.seccomp ?? profileUsual
  return {
    context: context ?? undefined,
    namespace,
    image: configured.image ?? clusterImage,
    seccomp:
      path === runtimeProfile
        ? ({ kind: 'runtime-default' } as const)
        : ({ kind: 'localhost', path } as const),
  }
}

function placeWords({ context, namespace }: NotedCluster): string {
  return `namespace ${namespace} of ${context === null ? 'the current context' : `context ${context}`}`
}
