import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import type { Engine } from '../../packages/fleet/src/sandbox/engine/connect-engine.ts'
import { followEngine } from '../../packages/fleet/src/sandbox/image/engine-images.ts'
import { imageId } from '../../packages/fleet/src/sandbox/image/known-images.ts'
import { usableAptSources } from '../../packages/fleet/src/sandbox/image/apt-sources.ts'
import { patient } from './patience.ts'

/** Packages beyond a minimal Debian: its service manager, and the one library that Node needs. */
const packages = ['systemd', 'systemd-sysv', 'libatomic1']
const sources = '/etc/apt/sources.list.d/debian.sources'
const bootstrapMaxMs = patient(600_000)

/** A Debian machine without Flotilla and without network. */
export interface CleanDebian {
  /** Runs a shell command and returns exit code, standard output and standard error. */
  run(line: string): Promise<{ readonly code: number; readonly out: string; readonly err: string }>
  /** Copies a file into the machine's folder /root. */
  put(path: string): Promise<void>
  remove(): Promise<void>
}

/**
 * The image of such a machine; if the engine lacks it, it is built from this host's packages. Null if it cannot be
 * built.
 */
export async function cleanDebianImage(engine: Engine): Promise<string | null> {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '')
  const codename = /^VERSION_CODENAME="?([a-z]+)"?$/m.exec(release)?.[1] ?? ''
  const listed = await readFile(sources, 'utf8').catch(() => null)
  if (listed === null || usableAptSources([{ path: sources, text: listed }], codename).length === 0)
    return null
  const digest = createHash('sha256').update(`${codename} ${packages.join()}`).digest('hex').slice(0, 12)
  const reference = `localhost/flotilla-test/debian:${digest}`
  if ((await imageId(engine, reference)) !== null) return reference
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-debian-'))
  try {
    const tar = join(folder, 'debian.tar')
    const options = ['man', 'doc', 'locale'].map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`)
    await promisify(execFile)(
      'mmdebstrap',
      ['--variant=minbase', `--include=${packages.join()}`, ...options, codename, tar, sources],
      { timeout: bootstrapMaxMs },
    )
    const stream = await engine.docker.importImage(createReadStream(tar), { repo: reference })
    await followEngine(engine, stream)
    return reference
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/**
 * Starts such a machine. With `manager` its systemd is the first process, which may mount file systems and has no
 * other rights on the host.
 */
export async function startCleanDebian(
  engine: Engine,
  image: string,
  { manager = false }: { readonly manager?: boolean } = {},
): Promise<CleanDebian> {
  const { docker } = engine
  const container = await docker.createContainer({
    Image: image,
    Cmd: ['sh', '-c', manager ? managerLine : 'while :; do sleep 60; done'],
    Env: ['container=docker', 'HOME=/root', 'LC_ALL=C.UTF-8'],
    HostConfig: {
      NetworkMode: 'none',
      Tmpfs: { '/run': '', '/run/lock': '', '/tmp': 'exec' },
      ...(manager
        ? {
            CgroupnsMode: 'private' as const,
            CapAdd: ['SYS_ADMIN'],
            SecurityOpt: ['seccomp=unconfined', 'apparmor=unconfined'],
          }
        : {}),
    },
    Labels: { 'flotilla.test': 'clean-debian' },
  })
  await container.start()
  return {
    async run(line) {
      const exec = await container.exec({ Cmd: ['sh', '-c', line], AttachStdout: true, AttachStderr: true })
      const stream = await exec.start({})
      const [out, err] = [new PassThrough(), new PassThrough()]
      const both = Promise.all([text(out), text(err)])
      docker.modem.demuxStream(stream, out, err)
      await new Promise<void>((resolve, reject) => stream.once('end', resolve).once('error', reject))
      out.end()
      err.end()
      const [said, complained] = await both
      return { code: (await exec.inspect()).ExitCode ?? -1, out: said, err: complained }
    },
    async put(path) {
      await promisify(execFile)('tar', [
        '--create',
        `--file=${path}.tar`,
        '-C',
        join(path, '..'),
        basenameOf(path),
      ])
      try {
        await container.putArchive(createReadStream(`${path}.tar`), { path: '/root' })
      } finally {
        await rm(`${path}.tar`, { force: true })
      }
    },
    remove: async () => {
      await container.remove({ force: true, v: true })
    },
  }
}

const basenameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

/** Remounts the container's cgroup folders as writable, because systemd manages its processes there. */
const managerLine =
  'for folder in /sys/fs/cgroup/* /sys/fs/cgroup; do mount -o remount,rw $folder 2>/dev/null; done; exec /lib/systemd/systemd'
