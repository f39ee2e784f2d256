import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, readdir, rm, rmdir, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { cachesFolder } from '@flotilla/protocol/compiled-modules'
import { makeImages } from './cluster/images.ts'
import { runClusterChaos } from './cluster-chaos.ts'
import { runClusterScale } from './cluster-scale.ts'
import { ensureHelm, ensureKubectl, ensureKwok, ensurePrograms } from './cluster/programs.ts'
import { startCluster, type Cluster } from './cluster/start-cluster.ts'

/**
 * `npm run test:kubernetes`: starts a cluster of three nodes on this machine, runs the tests on it, and removes it.
 * All of it runs in namespaces of its own, which end with their first process. However the run ends, only its
 * folder and empty control groups are left on the machine, which the next run removes.
 *
 * - `--shell` opens a shell there in place of the tests.
 * - `--chaos` kills a fleet's mesh, agents, nodes and network there (`cluster-chaos.ts`).
 * - `--scale` creates more pods than the machine has room for (`cluster-scale.ts`).
 *
 * Needs root, the distribution's packages and the Go toolchain. The programs are built once and kept in the cache.
 */
const root = join(import.meta.dirname, '..', '..')
const cache = join(cachesFolder(process.env['XDG_CACHE_HOME'], homedir()), 'flotilla', 'kubernetes')
const prefix = 'flotilla-kubernetes-'
const hierarchies = '/sys/fs/cgroup'
const [role, ...rest] = process.argv.slice(2)

// As the first process of its namespaces it ends all others with itself.
process.exit(role === 'inside' ? await inside(rest) : await outside(process.argv.slice(2)))

async function outside(args: readonly string[]): Promise<number> {
  if (process.getuid?.() !== 0)
    throw new Error('the cluster makes namespaces and control groups: run it as root')
  await sweep()
  await ensurePrograms(cache, (step) => console.log(step))
  await ensureHelm(cache, (step) => console.log(step))
  await ensureKubectl(cache, (step) => console.log(step))
  if (args.includes('--scale')) await ensureKwok(cache, (step) => console.log(step))
  const images = await makeImages({ cache, root, progress: (step) => console.log(step) })
  const folder = await mkdtemp(join(tmpdir(), prefix))
  const owned = join(folder, `owner-${process.pid}`)
  await writeFile(owned, '')
  const child = spawn(
    'setpriv',
    [
      '--pdeathsig',
      'KILL',
      'unshare',
      '--mount',
      '--propagation',
      'private',
      '--net',
      '--ipc',
      '--pid',
      '--fork',
      '--kill-child=SIGKILL',
      '--mount-proc',
      process.execPath,
      import.meta.filename,
      'inside',
      folder,
      images.join(','),
      ...args,
    ],
    { stdio: 'inherit' },
  )
  const stop = () => child.kill('SIGKILL')
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  const [code]: unknown[] = await once(child, 'exit')
  if (code === 0) await rm(owned)
  else console.log(`logs of the cluster stay in ${folder} until the next run`)
  if (code === 0) await removeCluster(folder)
  return typeof code === 'number' ? code : 1
}

async function inside([folder = '', images = '', ...args]: readonly string[]): Promise<number> {
  const programs = await ensurePrograms(cache, () => undefined)
  const startedAt = performance.now()
  const cluster = await startCluster(programs, {
    folder,
    tell: (words) => console.error(words),
    controlGroup: controlGroupOf(folder),
    images: images.split(','),
    // Simulated nodes report late when two cores work for all of them.
    ...(args.includes('--scale') ? { missedAfterSeconds: 3_600 } : {}),
    seccompProfile: {
      name: 'flotilla.json',
      path: join(root, 'images', 'agent', process.arch === 'x64' ? 'seccomp-x64.json' : 'seccomp-any.json'),
    },
  })
  console.log(
    `${cluster.nodes.length} nodes are ready after ${((performance.now() - startedAt) / 1000).toFixed(1)} s`,
  )
  const code = await workOf(args)(cluster)
  await cluster.stop()
  return code
}

/** Chooses what is done with the cluster. */
function workOf(args: readonly string[]): (cluster: Cluster) => Promise<number> {
  const tell = (words: string): void => console.log(words)
  if (args.includes('--chaos')) return (cluster) => runClusterChaos(cluster, args, tell)
  const scale = args.indexOf('--scale')
  if (scale < 0) return (cluster) => runTests(cluster, args)
  const counts = (args[scale + 1] ?? '').split(',').map(Number)
  if (counts.some((count) => !Number.isInteger(count) || count < 1))
    throw new Error('--scale takes numbers of pods, such as 1000,5000')
  return async (cluster) =>
    runClusterScale(cluster, { kwok: await ensureKwok(cache, () => undefined), counts, tell })
}

async function runTests(cluster: Cluster, args: readonly string[]): Promise<number> {
  const helm = await ensureHelm(cache, () => undefined)
  const kubectl = await ensureKubectl(cache, () => undefined)
  const [command, ...commandArgs] = args.includes('--shell')
    ? ['bash', '-i']
    : [join(root, 'node_modules', '.bin', 'vitest'), 'run', '--project', 'kubernetes', ...args]
  const child = spawn(command ?? '', commandArgs, {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      FLOTILLA_TEST_CLUSTER: cluster.placeFile,
      KUBECONFIG: cluster.kubeconfigFile,
      FLOTILLA_TEST_HELM: helm,
      FLOTILLA_TEST_KUBECTL: kubectl,
    },
  })
  const [code]: unknown[] = await once(child, 'exit')
  return typeof code === 'number' ? code : 1
}

/** Removes the folders of earlier runs whose process has ended. */
async function sweep(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(prefix)) continue
    const folder = join(tmpdir(), name)
    const owner = (await readdir(folder)).find((file) => file.startsWith('owner-'))?.slice('owner-'.length)
    if (owner === undefined || !(await isOurs(Number(owner)))) await removeCluster(folder)
  }
}

/** True if the process with that id is alive and runs this program. */
async function isOurs(pid: number): Promise<boolean> {
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  return command.includes('tests/kubernetes/main.ts')
}

function controlGroupOf(folder: string): string {
  return folder.split('/').at(-1) ?? ''
}

async function removeCluster(folder: string): Promise<void> {
  for (const hierarchy of await readdir(hierarchies)) {
    await removeGroups(join(hierarchies, hierarchy, controlGroupOf(folder)))
  }
  await rm(folder, { recursive: true, force: true })
}

/** Removes control groups from the leaves up; the kernel refuses to remove one that still has a process. */
async function removeGroups(group: string): Promise<void> {
  const entries = await readdir(group, { withFileTypes: true }).catch(() => [])
  for (const entry of entries) if (entry.isDirectory()) await removeGroups(join(group, entry.name))
  await rmdir(group).catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
  })
}
