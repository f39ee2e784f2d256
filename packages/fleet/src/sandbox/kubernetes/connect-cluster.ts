import { existsSync } from 'node:fs'
import { delimiter } from 'node:path'
import type {
  ConfigurationOptions,
  CoordinationV1Api,
  CoreV1Api,
  KubeConfig,
  NetworkingV1Api,
  NodeV1Api,
  VersionApi,
} from '@kubernetes/client-node'
import { reasonOf, SandboxError } from '../sandbox-error.ts'
import { openExec, type Execution, type ExecPlace } from './open-exec.ts'
import { podSchema, type Pod } from './pod-state.ts'

/** The API of one cluster, with the credentials of one user. */
export interface Cluster {
  readonly core: CoreV1Api
  readonly networking: NetworkingV1Api
  readonly leases: CoordinationV1Api
  readonly node: NodeV1Api
  readonly version: VersionApi
  /** The URL of the API server. */
  readonly url: URL
  /** Reads one pod; resolves to null if the pod does not exist. */
  readPod(namespace: string, name: string): Promise<Pod | null>
  /** Watches pods until the server ends the watch or `signal` aborts; rejects if the connection is lost. */
  follow(
    namespace: string,
    query: Readonly<Record<string, string | number>>,
    handlers: {
      readonly onChange: (type: string, object: unknown) => void
      readonly signal: AbortSignal
    },
  ): Promise<void>
  /** Runs a program in a running container. */
  exec(place: ExecPlace, command: readonly string[]): Promise<Execution>
}

export interface ClusterAddress {
  /** Path of the kubeconfig, as in KUBECONFIG; absent for the pod's own service account. */
  readonly kubeconfig?: string | undefined
  /** Name of the context; absent for the current context of the kubeconfig. */
  readonly context?: string | undefined
}

/**
 * Creates a client without connecting. Rejects with `SandboxError` `cluster-unknown` if the context does not
 * exist, and `cluster-insecure` if the server cannot be authenticated, because agents' secrets are sent
 * there. The client library is imported here, because its thousand files are of no use to a mesh without a
 * cluster.
 */
export async function connectCluster({ kubeconfig, context }: ClusterAddress): Promise<Cluster> {
  const client = await import('@kubernetes/client-node')
  const config = loadConfig(client, kubeconfig)
  if (context !== undefined) chooseContext(config, context)
  const cluster = config.getCurrentCluster()
  if (cluster === null) throw unknownCluster('the kubeconfig has no current context')
  if (!cluster.server.startsWith('https://') || cluster.skipTLSVerify) {
    throw new SandboxError(
      'cluster-insecure',
      `The connection to the cluster at ${cluster.server} is not authenticated: an attacker on the network could read the secrets of agents.\nRepair: in the kubeconfig set an https:// server and its certificate-authority, and remove insecure-skip-tls-verify.`,
    )
  }
  const core = config.makeApiClient(client.CoreV1Api)
  const watch = new client.Watch(config)
  return {
    core,
    networking: config.makeApiClient(client.NetworkingV1Api),
    leases: config.makeApiClient(client.CoordinationV1Api),
    node: config.makeApiClient(client.NodeV1Api),
    version: config.makeApiClient(client.VersionApi),
    url: new URL(cluster.server),

    readPod: async (namespace, name) => {
      const found = await core.readNamespacedPod({ namespace, name }).catch(unlessRefused([404], null))
      return found === null ? null : podSchema.parse(found)
    },

    async follow(namespace, query, { onChange, signal }) {
      const over = Promise.withResolvers<void>()
      over.promise.catch(() => undefined)
      const following = await watch.watch(
        podsPath(namespace),
        { ...query, allowWatchBookmarks: true },
        (type: string, object: unknown) => onChange(type, object),
        (error: unknown) => (error === null || signal.aborted ? over.resolve() : over.reject(error)),
      )
      const stop = (): void => following.abort()
      signal.addEventListener('abort', stop, { once: true })
      if (signal.aborted) stop()
      return over.promise.finally(() => signal.removeEventListener('abort', stop))
    },

    exec: (place, command) => openExec(config, place, command),
  }
}

/** Returns the path of a namespace's pods in the Kubernetes API. */
const podsPath = (namespace: string): string => ['', 'api', 'v1', 'namespaces', namespace, 'pods'].join('/')

/** File with the token of a pod's own service account. */
const ownAccount = '/var/run/secrets/kubernetes.io/serviceaccount/token'

/**
 * Loads the configuration as `kubectl` does. Without one, the client library would use an insecure default cluster.
 */
function loadConfig(
  client: typeof import('@kubernetes/client-node'),
  kubeconfig: string | undefined,
): KubeConfig {
  const config = new client.KubeConfig()
  const [first, ...more] = (kubeconfig ?? '').split(delimiter).filter((path) => path !== '')
  if (first === undefined) {
    if (!existsSync(ownAccount)) throw unknownCluster('this user has no kubeconfig')
    config.loadFromCluster()
    return config
  }
  try {
    config.loadFromFile(first)
    for (const path of more) {
      const next = new client.KubeConfig()
      next.loadFromFile(path)
      config.mergeConfig(next)
    }
  } catch (cause) {
    throw unknownCluster(`the kubeconfig cannot be read: ${reasonOf(cause)}`, cause)
  }
  return config
}

function chooseContext(config: KubeConfig, context: string): void {
  if (config.getContextObject(context) !== null) return config.setCurrentContext(context)
  const names = config.getContexts().map(({ name }) => name)
  throw unknownCluster(
    `the kubeconfig has no context ${context}; its contexts: ${names.join(', ') || 'none'}`,
  )
}

function unknownCluster(why: string, cause?: unknown): SandboxError {
  return new SandboxError(
    'cluster-unknown',
    `The cluster cannot be found: ${why}.\nRepair: name a context that \`kubectl config get-contexts\` lists, or set KUBECONFIG.`,
    { cause },
  )
}

/** Returns the HTTP status with which the API server refused; null for any other error. */
export function refusalStatus(error: unknown): number | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' ? error.code : null
}

/** Returns a handler for `catch`: gives `value` if the server refused with one of `statuses`, else rethrows. */
export function unlessRefused<Value>(statuses: readonly number[], value: Value): (error: unknown) => Value {
  return (error) => {
    const status = refusalStatus(error)
    if (status !== null && statuses.includes(status)) return value
    throw error
  }
}

/** Returns request options that abort with the signal; the client library has no time limit of its own. */
export async function boundedRequest(signal: AbortSignal): Promise<ConfigurationOptions> {
  signal.throwIfAborted()
  const { Observable } = await import('@kubernetes/client-node')
  return {
    middlewareMergeStrategy: 'append',
    middleware: [
      {
        pre: (request) => {
          request.setSignal(signal)
          return new Observable(Promise.resolve(request))
        },
        post: (response) => new Observable(Promise.resolve(response)),
      },
    ],
  }
}
