import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readFile, readdir, rename, rm, symlink, access } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { run } from './run.ts'

/** Packages of the distribution, unpacked into the cache and nowhere else. */
const packages = ['etcd-server', 'containerd', 'runc', 'containernetworking-plugins'] as const
const kubernetesParts = [
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubelet',
  'kube-proxy',
] as const

export interface Programs {
  /** Folder of all programs, under their own names. */
  readonly folder: string
  readonly networkPlugins: string
  readonly etcd: string
  readonly apiServer: string
  readonly controllerManager: string
  readonly scheduler: string
  readonly kubelet: string
  readonly proxy: string
  readonly containerd: string
  readonly ctr: string
}

/**
 * Builds or downloads every program that a cluster runs, unless `cache` has it. This takes a while; `progress` gets
 * each step.
 */
export async function ensurePrograms(cache: string, progress: (step: string) => void): Promise<Programs> {
  const recipe = join(import.meta.dirname, '..', 'programs')
  const sums = await Promise.all(['go.mod', 'go.sum'].map((name) => readFile(join(recipe, name))))
  const hash = createHash('sha256')
  for (const sum of [...sums, packages.join(' '), kubernetesParts.join(' ')]) hash.update(sum)
  const home = join(cache, `programs-${hash.digest('hex').slice(0, 16)}`)
  await madeWhole(home, async (making) => {
    await unpackPackages(making, progress)
    await buildKubernetes(recipe, making, progress)
  })
  const folder = join(home, 'bin')
  const at = (name: string) => join(folder, name)
  return {
    folder,
    networkPlugins: join(home, 'packages', 'usr', 'lib', 'cni'),
    etcd: at('etcd'),
    apiServer: at('kube-apiserver'),
    controllerManager: at('kube-controller-manager'),
    scheduler: at('kube-scheduler'),
    kubelet: at('kubelet'),
    proxy: at('kube-proxy'),
    containerd: at('containerd'),
    ctr: at('ctr'),
  }
}

/** Builds Helm, which renders the chart, unless `cache` has it. Returns its path. */
export function ensureHelm(cache: string, progress: (step: string) => void): Promise<string> {
  return ensureProgram({ name: 'helm', source: 'helm.sh/helm/v3/cmd/helm', cache, progress })
}

/** Builds kubectl in the version of the cluster, unless `cache` has it. Returns its path. */
export function ensureKubectl(cache: string, progress: (step: string) => void): Promise<string> {
  return ensureProgram({ name: 'kubectl', source: 'k8s.io/kubernetes/cmd/kubectl', cache, progress })
}

/** Builds KWOK, which plays the kubelets of simulated nodes, unless `cache` has it. Returns its path. */
export function ensureKwok(cache: string, progress: (step: string) => void): Promise<string> {
  return ensureProgram({ name: 'kwok', source: 'sigs.k8s.io/kwok/cmd/kwok', cache, progress })
}

/**
 * KWOK's own default stages of nodes and pods: transitions as fast as it can make them, and the heartbeats of a
 * kubelet.
 */
export async function kwokStages(): Promise<string> {
  const cwd = join(import.meta.dirname, '..', 'programs', 'kwok')
  const module = (await run('go', ['list', '-m', '-f', '{{.Dir}}', 'sigs.k8s.io/kwok'], { cwd })).trim()
  const texts: string[] = []
  for (const part of ['node/fast', 'node/heartbeat', 'pod/fast']) {
    const folder = join(module, 'kustomize', 'stage', part)
    const files = (await readdir(folder)).filter(
      (name) => name.endsWith('.yaml') && name !== 'kustomization.yaml',
    )
    for (const name of files.toSorted()) texts.push(await readFile(join(folder, name), 'utf8'))
  }
  return texts.join('\n---\n')
}

/** Builds one program from a recipe beside that of Kubernetes. */
async function ensureProgram(program: {
  readonly name: string
  /** The Go package of the program. */
  readonly source: string
  readonly cache: string
  readonly progress: (step: string) => void
}): Promise<string> {
  const { name, source, cache, progress } = program
  const recipe = join(import.meta.dirname, '..', 'programs', name)
  const digest = createHash('sha256')
    .update(await readFile(join(recipe, 'go.sum')))
    .digest('hex')
  const home = join(cache, `${name}-${digest.slice(0, 16)}`)
  await madeWhole(home, async (making) => {
    progress(`building ${name}: some minutes on a small machine, the first time`)
    const build = ['-n', '19', 'go', 'build', '-mod=readonly', '-trimpath', '-o', join(making, name)]
    const env = { ...process.env, CGO_ENABLED: '0' }
    await run('nice', [...build, source], { cwd: recipe, env })
  })
  return join(home, name)
}

/** Creates a folder under another name and renames it, so that it exists completely or not at all. */
async function madeWhole(home: string, make: (making: string) => Promise<void>): Promise<void> {
  if (await isThere(home)) return
  await mkdir(join(home, '..'), { recursive: true })
  const making = await mkdtemp(join(home, '..', 'making-'))
  await make(making)
  await rename(making, home)
}

async function unpackPackages(home: string, progress: (step: string) => void): Promise<void> {
  progress(`fetching ${packages.join(' ')} of this distribution`)
  const files = join(home, 'files')
  const target = join(home, 'packages')
  await mkdir(files)
  await run('apt-get', ['download', '-q', ...packages], { cwd: files }).catch(async () => {
    await run('apt-get', ['update', '-q'])
    await run('apt-get', ['download', '-q', ...packages], { cwd: files })
  })
  for (const file of await readdir(files)) await run('dpkg-deb', ['-x', join(files, file), target])
  await rm(files, { recursive: true })
  const bin = join(home, 'bin')
  await mkdir(bin)
  // A program may be in both folders, as a link in the first.
  for (const folder of ['usr/sbin', 'usr/bin']) {
    const there = await readdir(bin)
    for (const name of await readdir(join(target, folder))) {
      if (!there.includes(name)) await symlink(join('..', 'packages', folder, name), join(bin, name))
    }
  }
}

async function buildKubernetes(
  recipe: string,
  home: string,
  progress: (step: string) => void,
): Promise<void> {
  const version = /^require k8s\.io\/kubernetes (v\S+)$/m.exec(
    await readFile(join(recipe, 'go.mod'), 'utf8'),
  )?.[1]
  if (version === undefined) throw new Error('programs/go.mod names no version of k8s.io/kubernetes')
  const [, major, minor] = /^v(\d+)\.(\d+)/.exec(version) ?? []
  const stamps = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].flatMap((place) => [
    `-X ${place}.gitVersion=${version}`,
    `-X ${place}.gitMajor=${major}`,
    `-X ${place}.gitMinor=${minor}`,
  ])
  progress(`building Kubernetes ${version}: many minutes on a small machine, the first time`)
  await run(
    'nice',
    ['-n', '19', 'go', 'build', '-mod=readonly', '-trimpath'].concat(
      ['-ldflags', ['-s', '-w', ...stamps].join(' '), '-o', `${join(home, 'bin')}/`],
      kubernetesParts.map((part) => `k8s.io/kubernetes/cmd/${part}`),
    ),
    { cwd: recipe, env: { ...process.env, CGO_ENABLED: '0' } },
  )
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )
