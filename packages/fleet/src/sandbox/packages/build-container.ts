import { PassThrough, Readable } from 'node:stream'
import type Dockerode from 'dockerode'
import * as z from 'zod'
import type { Engine } from '../engine/connect-engine.ts'
import { ulimitsOf } from '../engine/engine-dialect.ts'
import { labelKeys } from '../hardening/container-options.ts'
import { isStatus } from '../image/engine-images.ts'
import { SandboxError } from '../sandbox-error.ts'
import { tarArchive } from '../tar-archive.ts'
import type { TarEntry } from '../tar-archive.ts'

/** How many bytes of the output of one step are kept: the list of a lock with 5000 packages fits. */
const outputMaxBytes = 2 * 1024 * 1024
/** The limits of the container in which packages are installed. */
const buildLimits = { memoryBytes: 2 * 1024 ** 3, pids: 1024 } as const

/**
 * What root keeps in the container: dpkg sets owners and modes of files, and runs programs of packages as other users.
 */
const capabilities = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'SETGID', 'SETUID'] as const

/** A container without a network in which packages are installed. It exists until `remove`. */
export interface BuildContainer {
  readonly id: string
  /** Runs a program as root to its end. Returns its code, its standard output and all output, the last part of each. */
  run(step: BuildStep): Promise<{ readonly code: number; readonly stdout: string; readonly output: string }>
  /** Writes files into the folder. */
  put(folder: string, entries: readonly TarEntry[]): Promise<void>
  /** Rejects if the packages changed a file of the agent or its Node. */
  refuseChanges(): Promise<void>
  /** Stores the container's files as an image without a name. Returns the image's id. */
  commit(): Promise<string>
  /** Removes the container and the downloads. Idempotent. */
  remove(): Promise<void>
}

export interface BuildStep {
  readonly command: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/** Role label of these containers; `leftovers` finds them by it after a mesh was killed. */
export const packagesRole = 'packages'

export async function startBuildContainer(
  engine: Engine,
  options: {
    readonly image: string
    readonly homeTag: string
    /** The folder with the socket of the registry proxy. */
    readonly registriesFolder: string
    /** Source text of `forward.cjs`, the container's first process. */
    readonly forwarder: string
    readonly signal: AbortSignal
  },
): Promise<BuildContainer> {
  const { image, homeTag, registriesFolder, forwarder, signal } = options
  signal.throwIfAborted()
  const container = await engine.docker.createContainer({
    Image: image,
    Cmd: ['node', '-e', forwarder],
    User: '0:0',
    Labels: { [labelKeys.home]: homeTag, [labelKeys.role]: packagesRole },
    Healthcheck: { Test: ['NONE'] },
    HostConfig: {
      NetworkMode: 'none',
      Init: true,
      CapDrop: ['ALL'],
      CapAdd: [...capabilities],
      SecurityOpt: ['no-new-privileges'],
      Memory: buildLimits.memoryBytes,
      MemorySwap: buildLimits.memoryBytes,
      PidsLimit: buildLimits.pids,
      Ulimits: await ulimitsOf(engine),
      Mounts: [
        { Type: 'bind', Source: registriesFolder, Target: '/registries', ReadOnly: true },
        // Without a name, so that the volume is removed together with the container. It is not part of the image.
        { Type: 'volume', Source: '', Target: '/fetch', VolumeOptions: anonymous },
      ],
    },
  })
  let removal: Promise<void> | null = null
  // One removal for all callers: an engine refuses a second one and does not wait for the first.
  const remove = (): Promise<void> => {
    removal ??= container.remove({ force: true, v: true }).catch((error: unknown) => {
      if (!isStatus(error, 404)) throw error
    })
    return removal
  }
  // The abort ends a step that waits for the container.
  const abort = (): void => void remove().catch(() => undefined)
  signal.addEventListener('abort', abort, { once: true })
  try {
    await container.start()
  } catch (error) {
    await remove()
    throw error
  }
  return {
    id: container.id,
    run: async (step) => {
      signal.throwIfAborted()
      const done = await runIn(engine, container, step)
      signal.throwIfAborted()
      return done
    },
    put: async (folder, entries) => {
      await container.putArchive(Readable.from(tarArchive(entries)), { path: folder })
    },
    refuseChanges: async () => {
      const changed = changesSchema.parse(await container.changes()).find(({ Path }) => isOfAgent(Path))
      if (changed === undefined) return
      throw new SandboxError(
        'packages-refused',
        `A package changes ${changed.Path.slice(0, 200)}, a file of the agent itself.\nRepair: remove that package from the list.`,
      )
    },
    commit: async () => {
      const made: unknown = await container.commit({ pause: true })
      const id = typeof made === 'object' && made !== null && 'Id' in made ? made.Id : null
      if (typeof id === 'string') return id
      throw new SandboxError(
        'engine-refused',
        'The engine gave no id for the image with packages.\nRepair: run flotilla doctor, then start again.',
      )
    },
    remove: async () => {
      signal.removeEventListener('abort', abort)
      await remove()
    },
  }
}

const changesSchema = z
  .array(z.looseObject({ Path: z.string() }))
  .nullable()
  .transform((list) => list ?? [])

/** Returns whether a path belongs to the agent's own programs. The engine lists parent folders as changed, too. Pure. */
export function isOfAgent(path: string): boolean {
  if (path === '/opt/flotilla' || path === '/opt/flotilla/packages') return false
  if (path.startsWith('/opt/flotilla/packages/')) return false
  return (
    path.startsWith('/opt/flotilla/') ||
    path === '/usr/local/bin/node' ||
    path.startsWith('/usr/local/lib/npm/')
  )
}

const anonymous: NonNullable<Dockerode.MountSettings['VolumeOptions']> = {
  NoCopy: true,
  Labels: {},
  DriverConfig: { Name: 'local', Options: {} },
}

async function runIn(engine: Engine, container: Dockerode.Container, { command, env = {} }: BuildStep) {
  const asking = await container.exec({
    Cmd: [...command],
    Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    User: '0:0',
    WorkingDir: '/',
    AttachStdout: true,
    AttachStderr: true,
  })
  const stream = await asking.start({})
  const printed = { stdout: '', output: '' }
  const keep = (text: string, into: 'stdout' | 'output'): void => {
    printed[into] = (printed[into] + text).slice(-outputMaxBytes)
  }
  const stdout = new PassThrough().setEncoding('utf8').on('data', (text: string) => {
    keep(text, 'stdout')
    keep(text, 'output')
  })
  const stderr = new PassThrough().setEncoding('utf8').on('data', (text: string) => keep(text, 'output'))
  const ended = new Promise<void>((resolve) => {
    for (const event of ['end', 'close', 'error']) stream.once(event, () => resolve())
  })
  engine.docker.modem.demuxStream(stream, stdout, stderr)
  await ended
  return { code: (await asking.inspect()).ExitCode ?? 1, ...printed }
}
