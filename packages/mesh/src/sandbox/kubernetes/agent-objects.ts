import { onceFolderVariable } from '@flotilla/protocol/agent-link'
import { agentCommand, fixedEnvironment, labelKeys } from '../docker/container-options.ts'
import { SandboxError } from '../sandbox-error.ts'
import { homeTag, sandboxHardening, sandboxName, type SandboxSpec } from '../sandbox-spec.ts'

/** What the pod of every agent stands on, beside its own spec. */
export interface PodGround {
  readonly homeId: string
  readonly namespace: string
  /** Made of the agent's image by `clusterRecipe`, where the nodes can pull it. */
  readonly image: string
  /** Where pods call the mesh: the agent API and the forward proxy. */
  readonly meshAddress: string
  /** Of this machine, where its servers listen: the same, unless a Service stands in front of them. */
  readonly ownAddress: string
  /** Ours, by its path below each kubelet's profiles; or what the runtime brings, which lets processes look into each other. */
  readonly seccomp:
    | { readonly kind: 'localhost'; readonly path: string }
    | { readonly kind: 'runtime-default' }
  /** Whether pods have a user namespace of their own: root inside, were there one, is nobody outside. */
  readonly userNamespaces: boolean
  /** Of claims; absent for the cluster's own choice. */
  readonly storageClass?: string
  /** Nodes whose walls were tried, and where alone agents are put; absent while none was. */
  readonly triedNodes?: readonly string[]
  /** Rung of isolation; absent for the cluster's own choice. */
  readonly runtimeClass?: string
}

/** Bytes of one secret; the API server refuses more than 1 MiB, of which some is its frame. */
export const podFilesMaxBytes = 700 * 1024

/** What a container may write to its node in all: its log, before the kubelet turns it over, and its last words. */
const nodeStorage = '64Mi'

/**
 * The agent's image, as pods want it. Kubernetes gives no volume that is not executable, but its runtimes bring a file
 * system for shared memory which is that, in memory, and of 64 MiB: so /tmp is there. Pure.
 */
export function clusterRecipe(agentImage: string): string {
  return `FROM ${agentImage}\nUSER 0\nRUN rm -rf /tmp && ln -s /dev/shm /tmp\nUSER ${sandboxHardening.uid}:${sandboxHardening.uid}\n`
}

/** What an agent finds when it starts. */
export interface PodFiles {
  /** Archive of what is put below `/data`; see `seedEntries`. */
  readonly archive: Uint8Array
  /** Archive of what the agent takes once: it is in memory alone, and nobody after the agent finds it. */
  readonly once: Uint8Array
  /** Files of `/briefing` by name. */
  readonly briefing: Readonly<Record<string, string>>
}

/**
 * Everything in the cluster that makes up an agent. Pure. Throws `SandboxError` `pod-files-too-large` for files that no
 * cluster keeps.
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
    // Whoever may look at pods is not to find the tokens in it.
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

/** What takes the place of an agent's files once its pod has them: nothing is kept that nobody needs. Pure. */
export function emptyFiles(ground: PodGround, agentId: string) {
  const name = filesSecret(sandboxName(ground.homeId, agentId))
  // By which it is found when the home is erased.
  const labels = { [labelKeys.home]: homeTag(ground.homeId), [labelKeys.role]: 'agent' }
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: ground.namespace, labels } }
}

/** Of a pod: all are gone with it. */
export function secretsOf(pod: string): readonly string[] {
  return [filesSecret(pod), `${pod}-briefing`, `${pod}-environment`]
}

const filesSecret = (pod: string): string => `${pod}-files`

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

/** A throw-away pod with an agent's walls and nothing of an agent, on one node; its log is what it printed. Pure. */
export function probePod(
  ground: PodGround,
  probe: {
    readonly name: string
    /** Absent for the scheduler's choice. */
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
          // It lasts for seconds, and is to run where all that a node has is promised to others.
          resources: { requests: nothingPromised, limits: limitsOf(probe.size) },
          name: 'probe',
          // As an agent's program is started, so that the probe sees whether its open files are bounded.
          command: [...withBoundFiles, ...probe.command],
          // Why it ended without a report: its log is read where it ended well.
          terminationMessagePolicy: 'FallbackToLogsOnError',
          volumeMounts: [queuesMount],
        },
      ],
    },
  }
}

/** A throw-away pod that keeps an agent's data at hand for `command`, and whose end comes by itself. Pure. */
export function helperPod(
  ground: PodGround,
  helper: {
    readonly name: string
    readonly claim: string
    readonly command: readonly string[]
    readonly size: PodSize
    readonly lifeMaxMs: number
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
        volumeMounts: [...container.volumeMounts, { name: 'data', mountPath: '/data' }],
      })),
    },
  }
}

export type PodSize = Pick<SandboxSpec, 'memoryLimitBytes' | 'cpu'>

/** What every node is to have, in the words of a repair. Pure. */
export function nodesNeed({ image, seccomp }: Pick<PodGround, 'image' | 'seccomp'>): string {
  const profile =
    seccomp.kind === 'localhost'
      ? `, and our profile of system calls to /var/lib/kubelet/seccomp/${seccomp.path} (or take FLOTILLA_KUBERNETES_SECCOMP=runtime-default)`
      : ''
  return `bring the image ${image} to every node, as \`flotilla image FILE\` writes it${profile}`
}

/** Claims outlive pods, and their names tell agents apart as volumes of engines do; ids are longer than a label may be. */
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

/** The walls of a pod as a whole. */
function podWalls(ground: PodGround) {
  return {
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
    // The address of every service of the namespace would stand in the environment.
    enableServiceLinks: false,
    hostUsers: !ground.userNamespaces,
    // The first process is then the runtime's, which takes in orphans; programs of the agent do not weigh on it for long.
    shareProcessNamespace: true,
    dnsPolicy: 'None',
    // Nobody answers there: names of the cluster are told to nobody.
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

/** A node that came since is not used before its walls were tried too; a term may name one node alone. */
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

/** The walls of each container; requests are limits, so that what is promised is there, and no more. */
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

/** Where nothing is said, a promise is as large as its limit. */
const nothingPromised = { cpu: '0', memory: '0', 'ephemeral-storage': '0' } as const

/** So that a fresh claim belongs to the agent. */
const ownsClaim = { fsGroup: sandboxHardening.uid, fsGroupChangePolicy: 'OnRootMismatch' } as const

/** Runtimes bring a file system for message queues, which the kernel counts by user over all containers: closed. */
const queues = { name: 'queues', emptyDir: { medium: 'Memory', sizeLimit: '4Ki' } }
const queuesMount = { name: 'queues', mountPath: '/dev/mqueue', readOnly: true }

/** In memory, and empty as soon as the agent has begun. */
const onceFolder = '/once'
const once = { name: 'once', emptyDir: { medium: 'Memory', sizeLimit: '64Ki' } }
const onceMount = { name: 'once', mountPath: onceFolder }

const { openFilesMax } = sandboxHardening
/**
 * As engines bound them: a cluster has no word for it, and its nodes may allow a million to each program. What a node allows
 * less of stays so, and where the bound does not come about nothing runs. Says nothing where it does: a probe is read by its log.
 */
const boundFiles = [
  'ulimit -c 0',
  `[ "$(ulimit -Hn)" -lt ${openFilesMax} ] 2>/dev/null || ulimit -n ${openFilesMax} || { echo 'the open files of a program cannot be bounded' >&2; exit 78; }`,
  'exec "$@"',
].join('; ')
const withBoundFiles = ['sh', '-c', boundFiles, 'sh'] as const

/** A file takes the place of what stands there, be it a link; it belongs to whoever unpacks it. */
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
    `What the agent is given at its start has ${bytes} bytes; a cluster takes ${podFilesMaxBytes}.\nRepair: shorten its project's files.`,
  )
}

function agentLabels(homeId: string, spec: SandboxSpec): Record<string, string> {
  return { [labelKeys.home]: homeTag(homeId), [labelKeys.role]: 'agent', [labelKeys.kind]: spec.kind }
}
