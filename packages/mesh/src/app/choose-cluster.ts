import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { Problem } from '@flotilla/protocol/problem'
import type { RuntimeName } from '@flotilla/protocol/runtime-names'
import * as z from 'zod'
import { writeFileAtomically } from '../config/index.ts'
import type { Environment } from '../config/index.ts'
import { productVersion } from '../platform/index.ts'

const namespaceUsual = 'flotilla'
/** Path of our profile of system calls below the kubelets' own, and the word for what their runtime brings instead. */
const profileUsual = 'flotilla.json'
const runtimeProfile = 'runtime-default'

/** The agent image in a cluster, as `flotilla image` names it. */
export const clusterImage = `flotilla.local/agent:${productVersion}`
/** That of the mesh. */
export const meshImage = `flotilla.local/mesh:${productVersion}`

const notedSchema = z.strictObject({
  /** Null for the one that is current in the kubeconfig. */
  context: z.string().nullable(),
  namespace: z.string(),
})

export type NotedCluster = z.infer<typeof notedSchema>

/** Where the agents of a home live; null for one that never had any in a cluster. */
export function notedCluster(path: string): NotedCluster | null {
  try {
    return notedSchema.parse(JSON.parse(readFileSync(path, 'utf8')))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw new Problem('unprocessable', {
      detail: `${path} says where the agents of this home live, and cannot be read`,
      repair: `Write {"context": null, "namespace": "${namespaceUsual}"} into it, with what is true.`,
      cause: error,
    })
  }
}

/** What the agents of a home run in, as its start does. */
export function runtimeKind(
  environment: Pick<Environment, 'runtime'>,
  noted: NotedCluster | null,
): RuntimeName {
  return environment.runtime ?? (noted === null ? 'docker' : 'kubernetes')
}

/** Throws the Problem `conflict` for a start on this machine of agents whose data is in a cluster: they would begin with nothing. */
export function refuseElsewhere(environment: Pick<Environment, 'runtime'>, noted: NotedCluster | null): void {
  if (noted === null || runtimeKind(environment, noted) === 'kubernetes') return
  throw new Problem('conflict', {
    detail: `the agents of this home live in ${placeWords(noted)}, and what they keep is there; asked was runtime ${environment.runtime}`,
    repair: elsewhereRepair('Leave out --runtime and FLOTILLA_RUNTIME'),
  })
}

const elsewhereRepair = (leave: string): string =>
  `${leave}; or take the fleet along: flotilla backup, and flotilla restore into another home.`

/** Noted once agents may be there: what they keep is nowhere else. */
export async function noteCluster(path: string, { context, namespace }: AgentsCluster): Promise<void> {
  const noted: NotedCluster = { context: context ?? null, namespace }
  await writeFileAtomically(path, JSON.stringify(noted), 0o600)
}

/** Where `kubectl` would look; undefined where only the account of a pod is left. */
export function usualKubeconfig(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const file = join(homedir(), '.kube', 'config')
  return env['KUBECONFIG'] || (existsSync(file) ? file : undefined)
}

/** Where a pod finds the name of its own namespace. */
const ownNamespaceFile = '/var/run/secrets/kubernetes.io/serviceaccount/namespace'

/** How pods find the mesh, as the runtime is told. Throws the Problem `unprocessable` for a Service in front of what is no pod. */
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
      detail: `FLOTILLA_KUBERNETES_SERVICE is for a mesh that is a pod with an account of the cluster, and ${ownNamespaceFile} is not there`,
      repair: 'Take it out of the environment, or run the mesh as docs/operations/kubernetes.md says.',
      cause,
    })
  }
}

export type AgentsCluster = ReturnType<typeof agentsCluster>

/** Which cluster is meant, and what agents are made of there. Throws the Problem `conflict` where they live in another. Pure. */
export function agentsCluster(asked: Environment['kubernetes'], noted: NotedCluster | null) {
  const context = asked.context ?? noted?.context ?? null
  const namespace = asked.namespace ?? noted?.namespace ?? namespaceUsual
  if (noted !== null && (context !== noted.context || namespace !== noted.namespace)) {
    throw new Problem('conflict', {
      detail: `the agents of this home live in ${placeWords(noted)}, and what they keep is there; asked was ${placeWords({ context, namespace })}`,
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
