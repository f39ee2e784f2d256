import { once } from 'node:events'
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import type { Authority } from './certificates.ts'
import { fabric, nodeCount, nodePlace, type NodePlace } from './layout.ts'
import { writeConfiguration } from './node-configuration.ts'
import type { Programs } from './programs.ts'
import { keep, run } from './run.ts'
import { until } from './until.ts'

const startMs = 60_000

/**
 * Kernel settings that a kubelet would change for the whole machine. It finds these values in files that only its
 * own mount namespace has, and leaves the machine's alone.
 */
const tunables = {
  'vm/overcommit_memory': 1,
  'vm/panic_on_oom': 0,
  'kernel/panic': 10,
  'kernel/panic_on_oops': 1,
  'kernel/keys/root_maxkeys': 1_000_000,
  'kernel/keys/root_maxbytes': 25_000_000,
} as const

export interface ClusterNode extends NodePlace {
  /** Number of starts so far; null while the node is off. */
  startCount(): number | null
  /** Runs a program on the node. */
  readonly run: (command: string, args: readonly string[], input?: string) => Promise<string>
  /** Simulates a power loss: every process of the node ends at once, and its disk is kept. */
  kill(): Promise<void>
  /** Starts the node again with the same disk. */
  boot(): Promise<void>
  /** Cuts the node's network; `join` restores it. */
  cut(): Promise<void>
  join(): Promise<void>
}

export interface NodeOptions {
  readonly index: number
  /** Folder of everything that the node keeps on its disk. */
  readonly folder: string
  /** Volumes of the cluster, the same on every node. */
  readonly volumes: string
  /** Path below every cgroup hierarchy. */
  readonly controlGroup: string
  readonly authority: Authority
  /** Credentials of a client that may list all services. */
  readonly servicesKubeconfig: string
  readonly images: readonly string[]
  /** Seccomp profile, by the name that pods use. */
  readonly seccompProfile: { readonly name: string; readonly path: string }
  readonly onEnd: (program: string, code: number | null) => void
}

/**
 * Starts a machine of the cluster: its own processes, mounts and network, with containerd, a kubelet and
 * kube-proxy.
 */
export async function startNode(programs: Programs, options: NodeOptions): Promise<ClusterNode> {
  const place = nodePlace(options.index)
  const { folder } = options
  for (const name of ['var', 'var-work', 'cni', 'kubelet/seccomp', 'containerd']) {
    await mkdir(join(folder, name), { recursive: true })
  }
  await writeConfiguration(programs, { ...options, place })
  let starts = 0
  let first: FirstProcess | null = null
  const inside = () => {
    if (first === null) throw new Error(`${place.name} is off`)
    return ['--target', String(first.pid), '--mount', '--uts', '--ipc', '--net', '--pid', '--']
  }
  const runInside: ClusterNode['run'] = (command, args, input) =>
    run('nsenter', [...inside(), command, ...args], input === undefined ? {} : { input })

  async function boot(): Promise<void> {
    const opened = await openNamespaces(place, options)
    first = opened
    await connectNode(place, opened.pid, runInside)
    await startPrograms(programs, {
      ...options,
      place,
      runInside,
      start: (name, program, args) =>
        keep('nsenter', [...inside(), program, ...args], {
          logFile: join(folder, `${name}.log`),
          // containerd finds the programs that it starts through PATH.
          env: { ...process.env, PATH: `${programs.folder}:${process.env['PATH'] ?? ''}` },
          onEnd: (code) => {
            if (first === opened) options.onEnd(`${name} of ${place.name}`, code)
          },
        }),
    })
    starts += 1
  }

  await boot()
  return {
    ...place,
    startCount: () => (first === null ? null : starts),
    run: runInside,
    boot,
    async kill() {
      const dying = first
      first = null
      if (dying === null) return
      process.kill(dying.pid, 'SIGKILL')
      await dying.ended
      // The kernel removes the node's end of the network link some time after its last process.
      const links = () => run('ip', ['-brief', 'link', 'show', 'type', 'veth'])
      await until(async () => !(await links()).includes(`${place.name}@`), startMs, `${place.name} is off`)
    },
    cut: async () => void (await run('ip', ['link', 'set', place.name, 'down'])),
    join: async () => void (await run('ip', ['link', 'set', place.name, 'up'])),
  }
}

async function startPrograms(
  programs: Programs,
  node: NodeOptions & {
    readonly place: NodePlace
    readonly runInside: ClusterNode['run']
    readonly start: (name: string, program: string, args: readonly string[]) => unknown
  },
): Promise<void> {
  const { folder, place, runInside, start } = node
  start('containerd', programs.containerd, ['--config', join(folder, 'containerd.toml')])
  const socket = join(folder, 'containerd.sock')
  const ctr = (...args: readonly string[]) =>
    runInside(programs.ctr, ['--address', socket, '-n', 'k8s.io', ...args])
  await until(async () => (await ctr('version')) !== '', startMs, `containerd of ${place.name} answers`)
  const there = (await ctr('images', 'list', '--quiet')).trim()
  if (there === '') for (const image of node.images) await ctr('images', 'import', image)
  start('kubelet', programs.kubelet, [
    `--config=${join(folder, 'kubelet.json')}`,
    `--kubeconfig=${join(folder, 'kubeconfig.json')}`,
    `--root-dir=${join(folder, 'kubelet')}`,
    `--hostname-override=${place.name}`,
    `--node-ip=${place.address}`,
    '--v=2',
  ])
  start('kube-proxy', programs.proxy, [
    `--kubeconfig=${node.servicesKubeconfig}`,
    `--hostname-override=${place.name}`,
    '--proxy-mode=iptables',
    `--cluster-cidr=${fabric.pods}`,
    // 0 leaves the machine-wide settings of connection tracking unchanged.
    '--conntrack-max-per-core=0',
    '--conntrack-tcp-timeout-established=0',
    '--conntrack-tcp-timeout-close-wait=0',
    '--iptables-localhost-nodeports=false',
    '--iptables-min-sync-period=100ms',
    '--v=2',
  ])
}

interface FirstProcess {
  readonly pid: number
  /** Resolves once the process and everything in its namespaces has ended. */
  readonly ended: Promise<unknown>
}

/**
 * Starts the first process of the node's namespaces. It only reaps orphans; when it ends, everything of the node
 * ends.
 */
async function openNamespaces(place: NodePlace, { folder }: NodeOptions): Promise<FirstProcess> {
  await rm(join(folder, 'open'), { force: true })
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
    // Gives the node its own copy of /var, where programs keep files at fixed paths.
    `mount -t overlay overlay -o lowerdir=/var,upperdir=${folder}/var,workdir=${folder}/var-work /var`,
    // The folder in which DaemonSet pods put seccomp profiles.
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
  return { pid, ended: once(outer, 'exit') }
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
  await ip('route', 'replace', place.podRange, 'via', place.address)
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
