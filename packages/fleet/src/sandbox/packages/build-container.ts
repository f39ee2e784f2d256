import { PassThrough, Readable } from 'node:stream'
import type { Clock } from '@flotilla/protocol/clock'
import type Dockerode from 'dockerode'
import * as z from 'zod'
import type { Engine } from '../engine/connect-engine.ts'
import { limitsTmpfsFiles, ulimitsOf } from '../engine/engine-dialect.ts'
import { guardedNode, killedFirst, labelKeys } from '../hardening/container-options.ts'
import { isStatus } from '../image/engine-images.ts'
import { SandboxError } from '../sandbox-error.ts'
import { besideAgents } from '../sandbox-spec.ts'
import { firstFile, readTar } from '../read-tar.ts'
import type { TarFacts } from '../read-tar.ts'
import { tarArchive } from '../tar-archive.ts'
import type { TarEntry } from '../tar-archive.ts'
import { failed } from './build-failed.ts'
import { watchSize } from './watch-size.ts'

/** How many bytes of the output of one step are kept: the list of a lock with 5000 packages fits. */
const outputMaxBytes = 2 * 1024 * 1024
/** How many characters of an unfinished line of a followed program are kept. */
const lineMaxChars = 1000
/** The limits of each container of a build. */
const buildLimits = {
  memoryBytes: besideAgents.build,
  cpus: 2,
  pids: 1024,
  tmpBytes: 1024 ** 3,
  tmpFiles: 131_072,
  /** The largest file, in bytes. */
  fileBytes: 4 * 1024 ** 3,
  /** All files of the container besides those of the agent image, in bytes. */
  diskBytes: 10 * 1024 ** 3,
} as const
/** The processor time of a container is counted in periods of this length, in microseconds. */
const cpuPeriodUs = 100_000

/**
 * What root keeps in the container: dpkg sets owners and modes of files, and runs programs of packages as other users.
 */
const capabilities = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'SETGID', 'SETUID'] as const

/** A container without a network in which packages are downloaded or installed. It exists until `remove`. */
export interface BuildContainer {
  readonly id: string
  /** Runs a program as root to its end. Returns its code, its standard output and all output, the last part of each. */
  run(step: BuildStep): Promise<{ readonly code: number; readonly stdout: string; readonly output: string }>
  /** Starts a program as root that prints lines until the container ends. Calls `line` with each of them. */
  follow(step: BuildStep, line: (text: string) => void): Promise<void>
  /** Returns the name of the volume that is mounted at `/fetch`. */
  volume(): Promise<string>
  /** Writes files into the folder. */
  put(folder: string, entries: readonly TarEntry[]): Promise<void>
  /** Returns a file's content; null if it does not exist. Rejects with `RangeError` if it is larger than `maxBytes`. */
  read(path: string, maxBytes: number): Promise<Buffer | null>
  /** Ends all processes. Afterwards nothing changes the files, and no step can run. */
  stop(): Promise<void>
  /** Returns the paths that differ from the image of the container. */
  changed(): Promise<readonly string[]>
  /** Reads all files of the container from outside. */
  files(): AsyncIterable<TarFacts>
  /** Stores the container's files as an image without a name. Returns the image's id. */
  commit(): Promise<string>
  /** Removes the container, and its downloads if no other container uses them. Idempotent. */
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
    /** Source text of the container's first process, a program of Node. */
    readonly program: string
    /** What is mounted besides `/tmp`. */
    readonly mounts: readonly Dockerode.MountSettings[]
    /** The limit of a build if it is absent. */
    readonly memoryBytes?: number | undefined
    readonly clock: Clock
    readonly signal: AbortSignal
  },
): Promise<BuildContainer> {
  const { image, homeTag, program, clock, signal } = options
  signal.throwIfAborted()
  const container = await engine.docker.createContainer({
    Image: image,
    Cmd: [...guardedNode, '-e', program],
    User: '0:0',
    Labels: { [labelKeys.home]: homeTag, [labelKeys.role]: packagesRole },
    Healthcheck: { Test: ['NONE'] },
    HostConfig: await buildHost(engine, options),
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
      const watched = watchSize(engine, container, {
        maxBytes: buildLimits.diskBytes,
        clock,
        signal,
        end: remove,
      })
      try {
        const done = await runIn(engine, container, step)
        signal.throwIfAborted()
        if (watched.isFull()) throw tooLarge()
        return done
      } catch (error) {
        throw watched.isFull() ? tooLarge() : error
      } finally {
        watched.end()
      }
    },
    follow: async (step, line) => {
      const { stream } = await startIn(engine, container, step)
      const lines = new PassThrough().setEncoding('utf8')
      let rest = ''
      lines.on('data', (text: string) => {
        const parts = (rest + text).split('\n')
        rest = (parts.pop() ?? '').slice(-lineMaxChars)
        for (const part of parts) line(part)
      })
      stream.on('error', () => undefined)
      engine.docker.modem.demuxStream(stream, lines, new PassThrough().resume())
    },
    volume: async () => {
      const { Mounts } = mountsSchema.parse(await container.inspect())
      const name = Mounts.find(({ Destination }) => Destination === '/fetch')?.Name
      if (name !== undefined) return name
      throw failed('the engine gave the container no folder for downloads')
    },
    put: async (folder, entries) => {
      await container.putArchive(Readable.from(tarArchive(entries)), { path: folder })
    },
    read: async (path, maxBytes) => {
      const archive = await container.getArchive({ path }).catch((error: unknown) => {
        if (isStatus(error, 404)) return null
        throw error
      })
      if (archive === null) return null
      return firstFile(Readable.from(archive), maxBytes)
    },
    stop: async () => {
      await container.kill().catch((error: unknown) => {
        if (!isStatus(error, 409)) throw error
      })
      await container.wait({ condition: 'not-running' })
      signal.throwIfAborted()
    },
    changed: async () => changesSchema.parse(await container.changes()),
    files: async function* () {
      yield* readTar(Readable.from(await container.export()))
    },
    commit: async () => {
      const made: unknown = await container.commit({ pause: false })
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

const mountsSchema = z.looseObject({
  Mounts: z.array(z.looseObject({ Destination: z.string(), Name: z.string().optional() })),
})

const changesSchema = z
  .array(z.looseObject({ Path: z.string() }))
  .nullable()
  .transform((list) => (list ?? []).map(({ Path }) => Path))

/** Returns the limits of a build, without a network and with few rights. */
async function buildHost(
  engine: Engine,
  of: { readonly mounts: readonly Dockerode.MountSettings[]; readonly memoryBytes?: number | undefined },
): Promise<Dockerode.HostConfig> {
  const { mounts, memoryBytes = buildLimits.memoryBytes } = of
  const filesAtMost = limitsTmpfsFiles(engine) ? `,nr_inodes=${buildLimits.tmpFiles}` : ''
  return {
    NetworkMode: 'none',
    Init: true,
    CapDrop: ['ALL'],
    CapAdd: [...capabilities],
    SecurityOpt: ['no-new-privileges'],
    Memory: memoryBytes,
    MemorySwap: memoryBytes,
    OomScoreAdj: killedFirst.build,
    PidsLimit: buildLimits.pids,
    CpuPeriod: cpuPeriodUs,
    CpuQuota: Math.floor(cpuPeriodUs * Math.min(buildLimits.cpus, engine.cpus)),
    Ulimits: [
      ...(await ulimitsOf(engine)),
      { Name: 'fsize', Soft: buildLimits.fileBytes, Hard: buildLimits.fileBytes },
    ],
    // Not part of the image. Build programs of packages run from here.
    Tmpfs: {
      '/tmp': `rw,exec,nosuid,nodev,mode=1777,size=${buildLimits.tmpBytes}${filesAtMost}`,
    },
    IpcMode: 'private',
    // The engine must not copy the output to a log, which has no limit.
    LogConfig: { Type: 'none', Config: {} },
    Mounts: [...mounts],
  }
}

function tooLarge(): SandboxError {
  return failed(`the packages need more than ${buildLimits.diskBytes / 1024 ** 3} GB of disk space`)
}

/** Starts a program in the container, with both outputs. */
async function startIn(engine: Engine, container: Dockerode.Container, { command, env = {} }: BuildStep) {
  const asking = await container.exec({
    Cmd: [...command],
    Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    User: '0:0',
    WorkingDir: '/',
    AttachStdout: true,
    AttachStderr: true,
  })
  return { asking, stream: await asking.start({}) }
}

async function runIn(engine: Engine, container: Dockerode.Container, step: BuildStep) {
  const { asking, stream } = await startIn(engine, container, step)
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
