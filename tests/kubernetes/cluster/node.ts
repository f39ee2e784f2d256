import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { kubeconfig, type Authority } from './certificates.ts'
import { fabric, nodeCount, nodePlace, type NodePlace } from './layout.ts'
import type { Programs } from './programs.ts'
import { keep, run } from './run.ts'
import { until } from './until.ts'

const startMs = 60_000

/** What a kubelet would set for the whole machine; it finds it there, in files that only its own namespace has. */
const tunables = {
  'vm/overcommit_memory': 1,
  'vm/panic_on_oom': 0,
  'kernel/panic': 10,
  'kernel/panic_on_oops': 1,
  'kernel/keys/root_maxkeys': 1_000_000,
  'kernel/keys/root_maxbytes': 25_000_000,
} as const

export interface ClusterNode extends NodePlace {
  /** Of the first process of its namespaces. */
  readonly pid: number
  /** Runs a program inside. */
  readonly run: (command: string, args: readonly string[], input?: string) => Promise<string>
}

export interface NodeOptions {
  readonly index: number
  /** Everything that the node keeps. */
  readonly folder: string
  /** Volumes of the cluster, the same on every node. */
  readonly volumes: string
  /** Below every hierarchy of control groups. */
  readonly controlGroup: string
  readonly authority: Authority
  /** Of whoever may look at all services. */
  readonly servicesKubeconfig: string
  readonly images: readonly string[]
  /** Profile of system calls, by the name that pods ask for. */
  readonly seccompProfile: { readonly name: string; readonly path: string }
  readonly onEnd: (program: string, code: number | null) => void
}

/** A machine of the cluster: its own processes, mounts, network; containerd, a kubelet and kube-proxy in them. */
export async function startNode(programs: Programs, options: NodeOptions): Promise<ClusterNode> {
  const place = nodePlace(options.index)
  const { folder } = options
  for (const name of ['var', 'var-work', 'cni', 'kubelet/seccomp', 'containerd']) {
    await mkdir(join(folder, name), { recursive: true })
  }
  const pid = await openNamespaces(place, options)
  const inside = ['--target', String(pid), '--mount', '--uts', '--ipc', '--net', '--pid', '--'] as const
  const runInside = (command: string, args: readonly string[], input?: string) =>
    run('nsenter', [...inside, command, ...args], input === undefined ? {} : { input })
  const start = (name: string, program: string, args: readonly string[]) =>
    keep('nsenter', [...inside, program, ...args], {
      logFile: join(folder, `${name}.log`),
      // containerd finds what it starts by its name.
      env: { ...process.env, PATH: `${programs.folder}:${process.env['PATH'] ?? ''}` },
      onEnd: (code) => options.onEnd(`${name} of ${place.name}`, code),
    })
  await connectNode(place, pid, runInside)
  await writeConfiguration(programs, { ...options, place })

  start('containerd', programs.containerd, ['--config', join(folder, 'containerd.toml')])
  const socket = join(folder, 'containerd.sock')
  const ctr = (...args: readonly string[]) =>
    runInside(programs.ctr, ['--address', socket, '-n', 'k8s.io', ...args])
  await until(async () => (await ctr('version')) !== '', startMs, `containerd of ${place.name} answers`)
  for (const image of options.images) await ctr('images', 'import', image)
  start('kubelet', programs.kubelet, [
    `--config=${join(folder, 'kubelet.json')}`,
    `--kubeconfig=${join(folder, 'kubeconfig.json')}`,
    `--root-dir=${join(folder, 'kubelet')}`,
    `--hostname-override=${place.name}`,
    `--node-ip=${place.address}`,
    '--v=2',
  ])
  start('kube-proxy', programs.proxy, [
    `--kubeconfig=${options.servicesKubeconfig}`,
    `--hostname-override=${place.name}`,
    '--proxy-mode=iptables',
    `--cluster-cidr=${fabric.pods}`,
    // What it would set for the whole machine stays as it is.
    '--conntrack-max-per-core=0',
    '--conntrack-tcp-timeout-established=0',
    '--conntrack-tcp-timeout-close-wait=0',
    '--iptables-localhost-nodeports=false',
    '--iptables-min-sync-period=100ms',
    '--v=2',
  ])
  return { ...place, pid, run: runInside }
}

/** The first process does nothing but take in orphans; with it everything of the node ends. */
async function openNamespaces(place: NodePlace, { folder }: NodeOptions): Promise<number> {
  const fakes = await Promise.all(
    Object.entries(tunables).map(async ([name, value]) => {
      const path = join(folder, name.replaceAll('/', '.'))
      await writeFile(path, `${value}\n`)
      return `mount --bind ${path} /proc/sys/${name}`
    }),
  )
  const script = [
    'set -e',
    `hostname ${place.name}`,
    'mount -t tmpfs tmpfs /run',
    // What programs keep in fixed places of /var stays the node's own.
    `mount -t overlay overlay -o lowerdir=/var,upperdir=${folder}/var,workdir=${folder}/var-work /var`,
    // Where pods that put profiles on nodes look for them.
    'mkdir -p /var/lib/kubelet/seccomp',
    `mount --bind ${folder}/kubelet/seccomp /var/lib/kubelet/seccomp`,
    ...fakes,
    'set +e',
    `touch ${folder}/open`,
    'trap : TERM INT',
    'while :; do sleep 3600 & wait; done',
  ].join('\n')
  const outer = keep(
    'unshare',
    [
      '--mount',
      '--propagation',
      'slave',
      '--uts',
      '--ipc',
      '--net',
      '--pid',
      '--fork',
      '--kill-child=SIGKILL',
      '--mount-proc',
      'bash',
      '-c',
      script,
    ],
    { logFile: join(folder, 'namespaces.log') },
  )
  await until(async () => (await readdir(folder)).includes('open'), startMs, `${place.name} is open`)
  const [pid] = await childrenOf(outer.pid ?? 0)
  if (pid === undefined) throw new Error(`${place.name} has no first process`)
  return pid
}

async function childrenOf(parent: number): Promise<readonly number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const stats = await Promise.all(
    pids.map(
      async (pid) => [Number(pid), await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')] as const,
    ),
  )
  return stats.filter(([, stat]) => stat.split(') ')[1]?.split(' ')[1] === String(parent)).map(([pid]) => pid)
}

async function connectNode(place: NodePlace, pid: number, runInside: ClusterNode['run']): Promise<void> {
  const ip = (...args: readonly string[]) => run('ip', args)
  await ip('link', 'add', place.name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(pid))
  await ip('link', 'set', place.name, 'master', fabric.bridge, 'up')
  await ip('route', 'add', place.podRange, 'via', place.address)
  const others = Array.from({ length: nodeCount }, (_, index) => nodePlace(index + 1)).filter(
    ({ name }) => name !== place.name,
  )
  await runInside(
    'ip',
    ['-batch', '-'],
    [
      'link set lo up',
      `addr add ${place.address}/${fabric.prefix} dev eth0`,
      'link set eth0 up',
      `route add default via ${fabric.address}`,
      ...others.map((other) => `route add ${other.podRange} via ${other.address}`),
      '',
    ].join('\n'),
  )
  await runInside('sh', ['-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward'])
}

async function writeConfiguration(
  programs: Programs,
  { folder, authority, place, controlGroup, seccompProfile }: NodeOptions & { readonly place: NodePlace },
): Promise<void> {
  const keys = await authority.node(place)
  const write = (name: string, text: string) => writeFile(join(folder, name), text)
  await write('kubeconfig.json', kubeconfig(authority, keys))
  await write('no-names', '')
  await write(`kubelet/seccomp/${seccompProfile.name}`, await readFile(seccompProfile.path, 'utf8'))
  await write(
    'cni/10-pods.conflist',
    JSON.stringify({
      cniVersion: '1.0.0',
      name: 'pods',
      plugins: [
        {
          // Every pod has a link of its own to the node, so that even what goes from pod to pod passes its rules.
          type: 'ptp',
          ipMasq: false,
          ipam: {
            type: 'host-local',
            dataDir: join(folder, 'addresses'),
            ranges: [[{ subnet: place.podRange }]],
            routes: [{ dst: '0.0.0.0/0' }],
          },
        },
        { type: 'tuning', sysctl: { 'net.ipv6.conf.all.disable_ipv6': '1' } },
      ],
    }),
  )
  await write('containerd.toml', containerdConfiguration(programs, folder))
  await write(
    'kubelet.json',
    JSON.stringify({
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      authentication: {
        anonymous: { enabled: false },
        webhook: { enabled: true },
        x509: { clientCAFile: authority.certificate },
      },
      authorization: { mode: 'Webhook' },
      tlsCertFile: keys.certificate,
      tlsPrivateKeyFile: keys.key,
      containerRuntimeEndpoint: `unix://${join(folder, 'containerd.sock')}`,
      cgroupDriver: 'cgroupfs',
      cgroupRoot: `/${controlGroup}/${place.name}`,
      failCgroupV1: false,
      failSwapOn: false,
      // What lowers it below 0 needs a capability that not every root has.
      oomScoreAdj: 0,
      protectKernelDefaults: true,
      podPidsLimit: 256,
      resolvConf: join(folder, 'no-names'),
      volumePluginDir: join(folder, 'plugins'),
      evictionHard: { 'memory.available': '50Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
      imageGCHighThresholdPercent: 100,
      imageGCLowThresholdPercent: 99,
      nodeStatusUpdateFrequency: '5s',
    }),
  )
}

function containerdConfiguration(programs: Programs, folder: string): string {
  return `version = 2
root = "${folder}/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.internal.v1.opt"]
[grpc]
  address = "${folder}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${programs.networkPlugins}"
    conf_dir = "${folder}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
`
}

/** What holds the namespaces of a pod. */
export const pauseImage = 'flotilla.local/pause:1'
