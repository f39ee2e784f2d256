import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv4 } from 'node:net'
import { networkInterfaces } from 'node:os'
import { labelKeys } from '../hardening/container-options.ts'
import { reasonOf, SandboxError } from '../sandbox-error.ts'
import { agentNodes, type AgentNode } from './cluster-nodes.ts'
import { boundedRequest, refusalStatus, unlessRefused, type Cluster } from './connect-cluster.ts'
import { agentNamespace, networkPolicies, podSecurityLabel, podSecurityLevel } from './network-policies.ts'
import type { MeshPlace } from './network-policies.ts'

/** The time limit for the first answer of a cluster, milliseconds. */
const answerMaxMs = 15_000
/** The first Kubernetes minor version with pod security levels and user namespaces for pods. */
const minorMin = 25

interface GroundOptions {
  readonly homeId: string
  readonly namespace: string
  readonly meshAddress?: string
  readonly service?: MeshService
  readonly meshPorts: readonly number[]
}

/**
 * A Service in front of the listeners of a mesh that runs as a pod; the Service's address stays the same when that
 * pod moves.
 */
export interface MeshService {
  readonly address: string
  /** Namespace of the mesh's own pod. */
  readonly namespace: string
}

/**
 * Checks whether agents can run in a cluster, and creates their namespace and its policies. Never changes objects
 * that the mesh did not create. Uses an existing namespace only if the cluster itself rejects pods with more rights
 * than an agent, and if nothing else runs in it, because the policies would cut its network off. Rejects with
 * `SandboxError`.
 */
export async function prepareGround(cluster: Cluster, options: GroundOptions): Promise<Ground> {
  const ground = await readyNamespace(cluster, options)
  const { service } = options
  const mesh: MeshPlace =
    service === undefined
      ? { kind: 'address', address: ground.ownAddress }
      : { kind: 'pods', namespace: service.namespace }
  await putPolicies(cluster, { ...options, mesh })
  return ground
}

/** Prepares the namespace without its policies. */
export async function readyNamespace(
  cluster: Cluster,
  options: Pick<GroundOptions, 'namespace' | 'meshAddress' | 'service'>,
): Promise<Ground> {
  const ground = await inspectGround(cluster, options)
  if (!ground.hasNamespace) await makeNamespace(cluster, options.namespace)
  return ground
}

export interface Ground {
  readonly nodes: readonly AgentNode[]
  /** The mesh's address for pods. */
  readonly meshAddress: string
  /** The address on which this machine's servers listen. */
  readonly ownAddress: string
  /** Whether the namespace exists already. */
  readonly hasNamespace: boolean
}

/** Makes the checks of `prepareGround` and changes nothing. */
export async function inspectGround(
  cluster: Cluster,
  options: Pick<GroundOptions, 'namespace' | 'meshAddress' | 'service'>,
): Promise<Ground> {
  const nodes = await reachNodes(cluster)
  await refuseOld(cluster)
  const ownAddress = options.meshAddress ?? (await addressTowards(cluster.url))
  refuseForeign(ownAddress)
  return {
    nodes,
    meshAddress: options.service?.address ?? ownAddress,
    ownAddress,
    hasNamespace: await judgeNamespace(cluster, options.namespace),
  }
}

export async function reachNodes(cluster: Cluster): Promise<readonly AgentNode[]> {
  const options = await boundedRequest(AbortSignal.timeout(answerMaxMs))
  const { items } = await cluster.core.listNode({}, options).catch((cause: unknown) => {
    const status = refusalStatus(cause)
    if (status === 401 || status === 403) throw refused(cluster, 'to list the nodes', cause)
    throw new SandboxError(
      'cluster-unreachable',
      `The cluster at ${cluster.url.host} does not answer: ${reasonOf(cause)}\nRepair: try \`kubectl get nodes\` as the user of the mesh, then run the command again.`,
      { cause },
    )
  })
  return agentNodes(items)
}

async function refuseOld(cluster: Cluster): Promise<void> {
  const { major, minor, gitVersion } = await cluster.version.getCode()
  if (Number(major) > 1 || Number.parseInt(minor, 10) >= minorMin) return
  throw new SandboxError(
    'cluster-too-old',
    `The cluster at ${cluster.url.host} is Kubernetes ${gitVersion}, which cannot enforce a Pod Security level on a namespace.\nRepair: use a cluster with Kubernetes 1.${minorMin} or newer.`,
  )
}

/** Returns this machine's address on its route to the cluster; no packet is sent. */
async function addressTowards({ hostname, port }: URL): Promise<string> {
  const socket = createSocket('udp4')
  try {
    socket.connect(Number(port || 443), hostname)
    await once(socket, 'connect')
    return socket.address().address
  } catch (cause) {
    throw noAddress(`the host ${hostname} has no reachable IPv4 address: ${reasonOf(cause)}`, cause)
  } finally {
    socket.close()
  }
}

/** Rejects an address that pods cannot call or the mesh cannot listen on. */
function refuseForeign(address: string): void {
  if (address.startsWith('127.') || !isIPv4(address))
    throw noAddress(`pods cannot reach the mesh at ${address}`)
  const own = Object.values(networkInterfaces()).flatMap((entries) => entries?.map((entry) => entry.address))
  if (!own.includes(address)) throw noAddress(`${address} is not an address of this machine`)
}

function noAddress(why: string, cause?: unknown): SandboxError {
  return new SandboxError(
    'cluster-no-address',
    `Agents in the cluster could not call the mesh: ${why}.\nRepair: set FLOTILLA_KUBERNETES_ADDRESS to an address of this machine that the nodes of the cluster can reach.`,
    { cause },
  )
}

async function makeNamespace(cluster: Cluster, namespace: string): Promise<void> {
  await cluster.core.createNamespace({ body: agentNamespace(namespace) }).catch((cause: unknown) => {
    if (refusalStatus(cause) === 403) throw refused(cluster, `to create the namespace ${namespace}`, cause)
    return unlessRefused([409], null)(cause)
  })
}

/** Checks an existing namespace; returns false if the namespace does not exist. */
async function judgeNamespace({ core }: Cluster, namespace: string): Promise<boolean> {
  const there = await core.readNamespace({ name: namespace }).catch(unlessRefused([404], null))
  if (there === null) return false
  const level = there.metadata?.labels?.[podSecurityLabel]
  if (level !== podSecurityLevel) {
    throw new SandboxError(
      'namespace-not-restricted',
      `The namespace ${namespace} ${level === undefined ? 'enforces no Pod Security level' : `enforces only the Pod Security level ${level}`}.\nRepair: name another namespace with --namespace, which the start creates correctly; or, if nothing else runs in this one, \`kubectl label namespace ${namespace} ${podSecurityLabel}=${podSecurityLevel} --overwrite\`.`,
    )
  }
  const others = await core.listNamespacedPod({
    namespace,
    labelSelector: `!${labelKeys.home}`,
    limit: 1,
  })
  const [other] = others.items
  if (other === undefined) return true
  throw new SandboxError(
    'namespace-shared',
    `Other programs run in the namespace ${namespace}, such as the pod ${other.metadata?.name ?? ''}, and the network isolation of agents would cut them off.\nRepair: name a separate namespace for the fleet with --namespace; the start creates it.`,
  )
}

async function putPolicies(
  { networking }: Cluster,
  home: Parameters<typeof networkPolicies>[0],
): Promise<void> {
  const { namespace } = home
  for (const body of networkPolicies(home)) {
    await networking.createNamespacedNetworkPolicy({ namespace, body }).catch(async (error: unknown) => {
      unlessRefused([409], null)(error)
      await networking.replaceNamespacedNetworkPolicy({ namespace, name: body.metadata.name, body })
    })
  }
}

function refused({ url }: Cluster, deed: string, cause: unknown): SandboxError {
  return new SandboxError(
    'cluster-refuses',
    `The cluster at ${url.host} does not allow this user ${deed}: ${reasonOf(cause)}\nRepair: use a context whose user may do this; docs/operations/kubernetes.md lists all permissions.`,
    { cause },
  )
}
