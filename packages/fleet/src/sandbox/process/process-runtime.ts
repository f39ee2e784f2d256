import { mkdir, open, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import process from 'node:process'
import type { Clock } from '@flotilla/protocol/clock'
import { findWorkers, type Worker } from './find-workers.ts'
import { launchProcess, type LaunchOptions } from './launch-process.ts'
import {
  exitCodeOf,
  isAlive,
  readAllRecords,
  readRecord,
  noteEnd,
  type ProcessRecord,
} from './process-record.ts'
import { measureGroups } from './measure-groups.ts'
import { measureFolders } from './measure-folders.ts'
import { readProcessData, signalGroup, writeProcessData } from './process-data.ts'
import { removeTree } from '@flotilla/foundation/platform'
import { reasonOf, SandboxError } from '../sandbox-error.ts'
import type { SandboxEnd, SandboxRuntime, SandboxState } from '../sandbox-runtime.ts'

/** The interval between two checks which agent processes have ended, in milliseconds. */
const pollEveryMs = 150
/** How long the mesh waits for a killed agent process to disappear, in milliseconds. */
const killWaitMs = 5_000

export interface ProcessRuntimeOptions extends LaunchOptions {
  /** The folder with one data folder for each agent. Belongs to one home. */
  readonly dataRoot: string
  readonly clock: Clock
}

/**
 * ADAPTER of `sandbox-runtime.ts`: agents as plain processes of this user. There is no isolation: agents see
 * the owner's files and network. For machines on which no container engine can run, and only if the owner
 * selects it. Linux only.
 *
 * Two processes never work on one data folder: a process begins once its record is on the disk, `prepare`
 * stops every process of this home that has no record, and a start waits until the whole process group of the
 * agent's previous start has ended, not only its first process.
 */
export function createProcessRuntime(options: ProcessRuntimeOptions): SandboxRuntime {
  const listeners = new Set<(end: SandboxEnd) => void>()
  /** Records of processes whose end was not requested, by agent id. */
  const running = new Map<string, ProcessRecord>()
  const closing = new AbortController()
  let watching: Promise<void> | null = null
  const folderOf = (agentId: string) => join(options.dataRoot, Buffer.from(agentId, 'utf8').toString('hex'))

  async function watch(): Promise<void> {
    while (!closing.signal.aborted) {
      await noticeEnds()
      await options.clock.sleep(pollEveryMs, closing.signal).catch(() => undefined)
    }
  }

  async function noticeEnds(): Promise<void> {
    for (const [agentId, record] of running) {
      // If the kernel does not answer, the state of the process is unknown; the next round asks again.
      if (!(await hasEnded(record).catch(() => false))) continue
      // A stop may have ended the process and removed it from `running` during the awaits above.
      if (running.get(agentId) !== record) continue
      running.delete(agentId)
      const code = await exitCodeOf(folderOf(agentId), record)
      for (const listener of listeners) listener({ agentId, code, outOfMemory: false })
    }
  }

  /** Returns true if the process has ended; then also ends the other processes of its group. */
  async function hasEnded(record: ProcessRecord): Promise<boolean> {
    if (await isAlive(record)) return false
    await endRemains(record)
    return true
  }

  async function halt(agentId: string, graceMs: number): Promise<void> {
    running.delete(agentId)
    const record = await readRecord(folderOf(agentId))
    if (record === null) return
    if (await isAlive(record)) await endProcess(record, graceMs)
    await endRemains(record)
  }

  async function endProcess(record: ProcessRecord, graceMs: number): Promise<void> {
    await noteEnd(folderOf(record.agentId), record, graceMs > 0 ? 143 : 137)
    if (graceMs > 0) {
      signal(-record.pid, 'SIGTERM')
      if (await isGoneWithin(record, graceMs, options.clock)) return
      await noteEnd(folderOf(record.agentId), record, 137)
    }
    signal(-record.pid, 'SIGKILL')
    if (!(await isGoneWithin(record, killWaitMs, options.clock))) {
      throw survives(record.pid, record.agentId)
    }
  }

  /** Ends the rest of a process group whose first process has ended; one of the rest may be the agent itself. */
  async function endRemains(record: ProcessRecord): Promise<void> {
    if (!hasGroup(record.pid)) return
    const data = join(folderOf(record.agentId), 'data')
    await endWorkers(record.agentId, () => findWorkers((folder) => folder === data))
  }

  async function endWorkers(whose: string, find: () => Promise<readonly Worker[]>): Promise<void> {
    const end = options.clock.now() + killWaitMs
    for (;;) {
      const [first, ...more] = await find()
      if (!first) return
      if (options.clock.now() >= end) throw survives(first.pid, whose)
      for (const { pid } of [first, ...more]) signal(pid, 'SIGKILL')
      await options.clock.sleep(20)
    }
  }

  /** Stops processes that a killed mesh started and did not record, or whose record is lost. */
  async function endUnrecorded(): Promise<void> {
    const records = await readAllRecords(options.dataRoot)
    const alive = await Promise.all(records.map(async (record) => ((await isAlive(record)) ? record : null)))
    const groups = new Map(
      alive.flatMap((record) =>
        record === null ? [] : [[join(folderOf(record.agentId), 'data'), record.pid] as const],
      ),
    )
    await endWorkers('an agent of this home', async () => {
      const workers = await findWorkers((data) => dirname(dirname(data)) === options.dataRoot)
      return workers.filter(({ data, group }) => groups.get(data) !== group)
    })
  }

  const stateOf = (record: ProcessRecord): Promise<SandboxState> => stateIn(folderOf(record.agentId), record)

  return {
    kind: 'process',
    isolates: false,
    crossesMachines: false,
    // Web pages must not run code as the owner's user, so agents have no browsers with this adapter.
    browsers: null,
    packages: null,
    ownImages: null,
    capacity: () => null,
    beside: () => [],
    listenHost: () => '127.0.0.1',
    meshAddress: () => '127.0.0.1',
    networks: async () => [],

    async prepare({ progress }) {
      progress('Agents run as plain processes of this user, without isolation')
      await mkdir(options.dataRoot, { recursive: true, mode: 0o700 })
      await endUnrecorded()
      for (const record of await readAllRecords(options.dataRoot)) {
        if (!(await isAlive(record))) continue
        // If a previous mesh was killed while it read the agent's data, the process group is still stopped.
        signalGroup(record.pid, 'SIGCONT')
        running.set(record.agentId, record)
      }
      watching ??= watch()
    },

    checkIsolation: async () => [],
    tryRung: async () => ({
      available: false,
      detail: 'agents run as plain processes',
      repair: 'Start without --runtime process.',
    }),

    async start(spec) {
      try {
        await halt(spec.agentId, 0)
        const record = await launchProcess(options, { spec, folder: folderOf(spec.agentId) })
        running.set(spec.agentId, record)
        return {
          agentId: spec.agentId,
          running: true,
          labels: spec.labels,
          address: { host: '127.0.0.1', port: record.port },
        }
      } catch (cause) {
        if (cause instanceof SandboxError) throw cause
        throw new SandboxError(
          'sandbox-start-failed',
          `The process of ${spec.agentId} could not be started: ${reasonOf(cause)}\nRepair: run \`flotilla doctor\`.`,
          { cause },
        )
      }
    },

    // The processor time of a plain process is not limited, so no start share exists.
    endStartShare: async () => {},
    stop: (agentId, { graceMs }) => halt(agentId, graceMs),

    async remove(agentId, { data }) {
      await halt(agentId, 0)
      const folder = folderOf(agentId)
      if (data) await removeTree(folder)
      else await rm(join(folder, 'sandbox.json'), { force: true })
    },

    async erase() {
      for (const record of await readAllRecords(options.dataRoot)) await halt(record.agentId, 0)
      await endUnrecorded()
      await removeTree(options.dataRoot)
    },

    async inspect(agentId) {
      const record = await readRecord(folderOf(agentId))
      return record === null ? null : stateOf(record)
    },

    list: async () => Promise.all((await readAllRecords(options.dataRoot)).map(stateOf)),
    logs: (agentId, maxBytes) => lastBytes(join(folderOf(agentId), 'log'), maxBytes),

    measureUse: async (agentIds) => {
      const records = await Promise.all(agentIds.map((agentId) => readRecord(folderOf(agentId))))
      const alive = await Promise.all(
        records.map(async (record) => (record !== null && (await isAlive(record)) ? record : null)),
      )
      return measureGroups(alive.filter((record) => record !== null))
    },

    dataBound: () => ({ kind: 'meter', why: 'agents run as plain processes' }),
    measureData: (agentIds) =>
      measureFolders(agentIds.map((agentId) => ({ agentId, path: join(folderOf(agentId), 'data') }))),
    readData: async (agentId) => {
      const record = await readRecord(folderOf(agentId))
      const works = record !== null && (await isAlive(record))
      return readProcessData(folderOf(agentId), { group: works ? record.pid : null, clock: options.clock })
    },
    writeData: (agentId, tar) => writeProcessData(folderOf(agentId), tar),
    // Plain processes have no engine that could disconnect.
    onEngineBack: () => () => undefined,

    onEnd(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },

    async close() {
      closing.abort()
      await watching
    },
  }
}

async function isGoneWithin(record: ProcessRecord, boundMs: number, clock: Clock): Promise<boolean> {
  const end = clock.now() + boundMs
  while (await isAlive(record)) {
    if (clock.now() >= end) return false
    await clock.sleep(20)
  }
  return true
}

async function stateIn(folder: string, record: ProcessRecord): Promise<SandboxState> {
  const { agentId, labels, port } = record
  if (await isAlive(record)) return { agentId, running: true, labels, address: { host: '127.0.0.1', port } }
  const code = await exitCodeOf(folder, record)
  return { agentId, running: false, labels, exit: { code, outOfMemory: false } }
}

function survives(pid: number, whose: string): SandboxError {
  return new SandboxError(
    'process-survives',
    `The process ${pid} of ${whose} has not ended.\nRepair: kill -9 ${pid}`,
  )
}

/** Sends a signal to a process, or to a process group if `pid` is negative. A missing process is not an error. */
function signal(pid: number, name: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if (!isGone(error)) throw error
  }
}

/** Returns false if no process of the group is left; true is no proof, since another group can get the number. */
function hasGroup(pid: number): boolean {
  try {
    process.kill(-pid, 0)
    return true
  } catch (error) {
    return !isGone(error)
  }
}

const isGone = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ESRCH'

async function lastBytes(path: string, maxBytes: number): Promise<string> {
  const file = await open(path, 'r').catch(() => null)
  if (file === null) return ''
  try {
    const { size } = await file.stat()
    const length = Math.min(size, maxBytes)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length)
    return buffer.subarray(0, bytesRead).toString('utf8')
  } finally {
    await file.close()
  }
}
