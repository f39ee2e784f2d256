import { onceFolderVariable } from '@flotilla/protocol/agent-link'
import { agentCommand, fixedEnvironment, labelKeys } from '../hardening/container-options.ts'
import { SandboxError } from '../sandbox-error.ts'
import { homeTag, sandboxHardening, sandboxName, type SandboxSpec } from '../sandbox-spec.ts'

/** What every agent pod needs in addition to its spec. */
export interface PodGround {
  readonly homeId: string
  readonly namespace: string
  /** The image that `clusterRecipe` builds from the agent's image, by a name from which nodes can pull it. */
  readonly image: string
  /** The address at which pods reach the agent API and the forward proxy. */
  readonly meshAddress: string
  /** The address on which this machine's servers listen; `meshAddress` differs if a Service is in front of them. */
  readonly ownAddress: string
  /**
   * The mesh's own seccomp profile, by its path below each kubelet's profiles; or the container runtime's default
   * profile, which lets processes read each other's memory.
   */
  readonly seccomp:
    | { readonly kind: 'localhost'; readonly path: string }
    | { readonly kind: 'runtime-default' }
  /** Whether pods have their own user namespace: root inside a pod would be an unprivileged user outside. */
  readonly userNamespaces: boolean
  /** Storage class of claims; absent for the cluster's default. */
  readonly storageClass?: string
  /** Nodes whose walls were tested and on which agents are scheduled; absent until one was tested. */
  readonly triedNodes?: readonly string[]
  /** Runtime class as isolation level; absent for the cluster's default. */
  readonly runtimeClass?: string
}

/** Maximum bytes of one secret; the API server refuses an object over 1 MiB, which includes its metadata. */
export const podFilesMaxBytes = 700 * 1024

/**
 * Bytes that a container may write to its node in total: its log before the kubelet rotates the log, and its
 * termination message.
 */
const nodeStorage = '64Mi'

/** The files that an agent finds when it starts. */
export interface PodFiles {
  /** Archive that is unpacked below `/data`; see `seedEntries`. */
  readonly archive: Uint8Array
  /** Archive of one-time files: the agent reads each once from memory, and the files are deleted afterwards. */
  readonly once: Uint8Array
  /** Files of `/briefing` by name. */
  readonly briefing: Readonly<Record<string, string>>
}

/**
 * Returns all Kubernetes objects of an agent. Pure. Throws `SandboxError` `pod-files-too-large` for files beyond the
 * cluster's size limit.
 */
export function agentObjects(ground: PodGround, spec: SandboxSpec, given: PodFiles) {
  const name = sandboxName(ground.homeId, spec.agentId)
  const metadata = {
    name,
    namespace: ground.namespace,
    labels: agentLabels(ground.homeId, spec),
    annotations: { ...spec.labels, [labelKeys.agent]: spec.agentId },
  }
  refuseLarge(given)
  return {
    claim: claimOf(ground, spec),
    files: {
      ...emptyFiles(ground, spec.agentId),
      metadata: { ...metadata, name: filesSecret(name) },
      data: { 'files.tar': base64(given.archive), 'once.tar': base64(given.once) },
    },
    // Tokens are in a secret and not in the pod, because other users may be allowed to read pods.
    environment: {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { ...metadata, name: `${name}-environment` },
      stringData: { ...spec.environment, ...fixedEnvironment, [onceFolderVariable]: onceFolder },
    },
    briefing: {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { ...metadata, name: `${name}-briefing` },
      stringData: given.briefing,
    },
    pod: {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata,
      spec: {
        ...podWalls(ground),
        ...onTriedNodes(ground),
        hostname: name,
        securityContext: {
          ...identity(ground),
          ...ownsClaim,
        },
        volumes: [
          { name: 'data', persistentVolumeClaim: { claimName: claimName(ground.homeId, spec.agentId) } },
          { name: 'files', secret: { secretName: filesSecret(name) } },
          once,
          { name: 'briefing', secret: { secretName: `${name}-briefing` } },
          queues,
        ],
        initContainers: [
          {
            ...containerWalls(ground, spec),
            name: 'seed',
            command: seedCommand,
            volumeMounts: [
              { name: 'data', mountPath: '/data' },
              { name: 'files', mountPath: '/files', readOnly: true },
              onceMount,
            ],
          },
        ],
        containers: [
          {
            ...containerWalls(ground, spec),
            name: 'agent',
            command: [...withBoundFiles, ...agentCommand(spec.memoryLimitBytes)],
            workingDir: '/data',
            envFrom: [{ secretRef: { name: `${name}-environment` } }],
            volumeMounts: [
              { name: 'data', mountPath: '/data' },
              { name: 'briefing', mountPath: '/briefing', readOnly: true },
              onceMount,
              queuesMount,
            ],
          },
        ],
      },
    },
  }
}

/**
 * Returns an empty secret that replaces an agent's files once its pod has read them, to keep no secret longer. Pure.
 */
export function emptyFiles(ground: PodGround, agentId: string) {
  const name = filesSecret(sandboxName(ground.homeId, agentId))
  // By these labels the secret is found when the home is erased.
  const labels = { [labelKeys.home]: homeTag(ground.homeId), [labelKeys.role]: 'agent' }
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: ground.namespace, labels } }
}

/** Returns the names of a pod's secrets, which are deleted together with the pod. */
export function secretsOf(pod: string): readonly string[] {
  return [filesSecret(pod), `${pod}-briefing`, `${pod}-environment`]
}

const filesSecret = (pod: string): string => `${pod}-files`

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

/** Returns a throw-away pod for one node with an agent's walls but no agent; the probe's output is its log. Pure. */
export function probePod(
  ground: PodGround,
  probe: {
    readonly name: string
    /** The node that must run the pod; absent if the scheduler may choose. */
    readonly node?: string
    readonly command: readonly string[]
    readonly size: PodSize
  },
) {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: probe.name,
      namespace: ground.namespace,
      labels: { [labelKeys.home]: homeTag(ground.homeId), [labelKeys.role]: 'probe' },
    },
    spec: {
      ...podWalls(ground),
      ...(probe.node === undefined ? {} : { nodeName: probe.node }),
      securityContext: identity(ground),
      volumes: [queues],
      containers: [
        {
          ...containerWalls(ground, probe.size),
          // The probe lasts for seconds and must also run on a node whose resources are all requested by other pods.
          resources: { requests: nothingPromised, limits: limitsOf(probe.size) },
          name: 'probe',
          // Started with the limits of an agent's program, so that the probe sees whether open files are limited.
          command: [...withBoundFiles, ...probe.command],
          // On a failure the termination message contains the end of the log; on success only the log is read.
          terminationMessagePolicy: 'FallbackToLogsOnError',
          volumeMounts: [queuesMount],
        },
      ],
    },
  }
}

/** Returns a throw-away pod that mounts an agent's data, runs `command` and ends after a time limit. Pure. */
export function helperPod(
  ground: PodGround,
  helper: {
    readonly name: string
    readonly claim: string
    readonly command: readonly string[]
    readonly size: PodSize
    readonly lifeMaxMs: number
    /** The node that must run the pod; absent if the scheduler may choose. */
    readonly node?: string
    /** True if the container may only read the data. */
    readonly readOnly?: boolean
  },
) {
  const { spec, ...pod } = probePod(ground, helper)
  return {
    ...pod,
    metadata: { ...pod.metadata, labels: { ...pod.metadata.labels, [labelKeys.role]: 'helper' } },
    spec: {
      ...spec,
      activeDeadlineSeconds: Math.ceil(helper.lifeMaxMs / 1_000),
      securityContext: { ...spec.securityContext, ...ownsClaim },
      volumes: [...spec.volumes, { name: 'data', persistentVolumeClaim: { claimName: helper.claim } }],
      containers: spec.containers.map((container) => ({
        ...container,
        volumeMounts: [
          ...container.volumeMounts,
          { name: 'data', mountPath: '/data', readOnly: helper.readOnly ?? false },
        ],
      })),
    },
  }
}

export type PodSize = Pick<SandboxSpec, 'memoryLimitBytes' | 'cpu'>

/** Describes what every node needs, for the repair text of an error. Pure. */
export function nodesNeed({ image, seccomp }: Pick<PodGround, 'image' | 'seccomp'>): string {
  const profile =
    seccomp.kind === 'localhost'
      ? `, and the seccomp profile of Flotilla to /var/lib/kubelet/seccomp/${seccomp.path} (or take FLOTILLA_KUBERNETES_SECCOMP=runtime-default)`
      : ''
  return `bring the image ${image} to every node, as \`flotilla image FILE\` writes it${profile}`
}

/**
 * Returns the name of an agent's claim, which outlives pods. The name is a digest, because agent ids can be longer
 * than a Kubernetes label.
 */
export function claimName(homeId: string, agentId: string): string {
  return `${sandboxName(homeId, agentId)}-data`
}

export function claimOf(ground: PodGround, spec: Pick<SandboxSpec, 'agentId' | 'dataLimitBytes'>) {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name: claimName(ground.homeId, spec.agentId),
      namespace: ground.namespace,
      labels: { [labelKeys.home]: homeTag(ground.homeId), [labelKeys.role]: 'data' },
      annotations: { [labelKeys.agent]: spec.agentId },
    },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: String(spec.dataLimitBytes) } },
      ...(ground.storageClass === undefined ? {} : { storageClassName: ground.storageClass }),
    },
  }
}

/** The isolation settings of a whole pod. */
function podWalls(ground: PodGround) {
  return {
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
    // Kubernetes would otherwise put the address of every service of the namespace into the environment.
    enableServiceLinks: false,
    hostUsers: !ground.userNamespaces,
    // Makes a process of the container runtime the first one, so that it reaps orphaned programs of the agent.
    shareProcessNamespace: true,
    dnsPolicy: 'None',
    // No name server answers at this address, so pods cannot resolve names of the cluster.
    dnsConfig: {
      nameservers: [ground.meshAddress],
      options: [
        { name: 'timeout', value: '1' },
        { name: 'attempts', value: '1' },
      ],
    },
    ...(ground.runtimeClass === undefined ? {} : { runtimeClassName: ground.runtimeClass }),
  }
}

/** Schedules the pod on tested nodes only, so that a new node must be tested first. Each term can name one node. */
function onTriedNodes({ triedNodes }: PodGround) {
  if (triedNodes === undefined) return {}
  const nodeSelectorTerms = triedNodes.map((node) => ({
    matchFields: [{ key: 'metadata.name', operator: 'In', values: [node] }],
  }))
  const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } }
  return { affinity: { nodeAffinity } }
}

function identity(ground: PodGround) {
  return {
    runAsNonRoot: true,
    runAsUser: sandboxHardening.uid,
    runAsGroup: sandboxHardening.uid,
    seccompProfile:
      ground.seccomp.kind === 'localhost'
        ? { type: 'Localhost', localhostProfile: ground.seccomp.path }
        : { type: 'RuntimeDefault' },
  }
}

/** The isolation settings of each container. Requests equal limits, so that the node reserves all resources. */
function containerWalls(ground: PodGround, podSize: PodSize) {
  const size = limitsOf(podSize)
  return {
    image: ground.image,
    imagePullPolicy: 'IfNotPresent',
    resources: { requests: size, limits: size },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      privileged: false,
      capabilities: { drop: ['ALL'] },
    },
  }
}

function limitsOf({ memoryLimitBytes, cpu }: PodSize) {
  return {
    cpu: `${Math.round((cpu.quotaUs / cpu.periodUs) * 1_000)}m`,
    memory: String(memoryLimitBytes),
    'ephemeral-storage': nodeStorage,
  }
}

/** Explicit zeros, because without a request Kubernetes requests as much as the limit. */
const nothingPromised = { cpu: '0', memory: '0', 'ephemeral-storage': '0' } as const

/** Kubernetes sets this group as the owner of a new claim's files, so that the agent can write to them. */
const ownsClaim = { fsGroup: sandboxHardening.uid, fsGroupChangePolicy: 'OnRootMismatch' } as const

/** Hides the message queues of the container runtime, because the kernel counts them by user over all containers. */
const queues = { name: 'queues', emptyDir: { medium: 'Memory', sizeLimit: '4Ki' } }
const queuesMount = { name: 'queues', mountPath: '/dev/mqueue', readOnly: true }

/** Folder in memory for the one-time files; the folder is empty once the agent has started. */
const onceFolder = '/once'
const once = { name: 'once', emptyDir: { medium: 'Memory', sizeLimit: '64Ki' } }
const onceMount = { name: 'once', mountPath: onceFolder }

const { openFilesMax } = sandboxHardening
/**
 * Sets the limit of open files in a shell, because Kubernetes has no field for it and nodes may allow a million. A
 * lower limit of the node is kept; if no limit can be set, the program does not run. On success nothing is printed,
 * because the log of a probe is parsed.
 */
const boundFiles = [
  'ulimit -c 0',
  `[ "$(ulimit -Hn)" -lt ${openFilesMax} ] 2>/dev/null || ulimit -n ${openFilesMax} || { echo 'the open files of a program cannot be bounded' >&2; exit 78; }`,
  'exec "$@"',
].join('; ')
const withBoundFiles = ['sh', '-c', boundFiles, 'sh'] as const

/** Unpacks the agent's files. Replaces an existing file or link; the files belong to the user of the pod. */
const seedCommand = [
  'sh',
  '-ec',
  `tar --extract --file=/files/files.tar --directory=/data\ntar --extract --file=/files/once.tar --directory=${onceFolder}`,
]

function refuseLarge({ archive, briefing }: PodFiles): void {
  const texts = Object.values(briefing).reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  const bytes = Math.max(archive.length, texts)
  if (bytes <= podFilesMaxBytes) return
  throw new SandboxError(
    'pod-files-too-large',
    `The start files of the agent have ${bytes} bytes; a cluster accepts ${podFilesMaxBytes}.\nRepair: shorten the texts of the agent's project (flotilla projects write).`,
  )
}

function agentLabels(homeId: string, spec: SandboxSpec): Record<string, string> {
  return { [labelKeys.home]: homeTag(homeId), [labelKeys.role]: 'agent', [labelKeys.kind]: spec.kind }
}
