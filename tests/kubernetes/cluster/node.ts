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
  /** How often it was started; null while it is off. */
  life(): number | null
  /** Runs a program inside. */
  readonly run: (command: string, args: readonly string[], input?: string) => Promise<string>
  /** Takes its plug out: every process of it ends at once, and what it kept on its disk is there. */
  kill(): Promise<void>
  /** Starts it again after that, with its own disk. */
  boot(): Promise<void>
  /** Takes its cable out, or puts it back. */
  cut(): Promise<void>
  join(): Promise<void>
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
  await writeConfiguration(programs, { ...options, place })
  let lives = 0
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
          // containerd finds what it starts by its name.
          env: { ...process.env, PATH: `${programs.folder}:${process.env['PATH'] ?? ''}` },
          onEnd: (code) => {
            if (first === opened) options.onEnd(`${name} of ${place.name}`, code)
          },
        }),
    })
    lives += 1
  }

  await boot()
  return {
    ...place,
    life: () => (first === null ? null : lives),
    run: runInside,
    boot,
    async kill() {
      const dying = first
      first = null
      if (dying === null) return
      process.kill(dying.pid, 'SIGKILL')
      await dying.ended
      // The kernel takes its end of the cable away some time after its last process.
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
    // What it would set for the whole machine stays as it is.
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
  /** Once it and everything of its namespaces is gone. */
  readonly ended: Promise<unknown>
}

/** The first process does nothing but take in orphans; with it everything of the node ends. */
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
