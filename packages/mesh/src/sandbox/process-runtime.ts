import { spawn } from 'node:child_process'
import { chmod, mkdir, open, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import process from 'node:process'
import type { Clock } from '@flotilla/protocol/clock'
import { agentCommand } from './docker/container-options.ts'
import { seedEntries } from './docker/seed-files.ts'
import {
  exitCodeOf,
  isAlive,
  readAllRecords,
  readRecord,
  startTicksOf,
  writeRecord,
  type ProcessRecord,
} from './process/process-record.ts'
import { measureFolders } from './process/measure-folders.ts'
import { reasonOf, SandboxError } from './sandbox-error.ts'
import type { SandboxEnd, SandboxRuntime, SandboxState } from './sandbox-runtime.ts'
import type { SandboxSpec } from './sandbox-spec.ts'

const lookEveryMs = 150
const killWaitMs = 5_000

export interface ProcessRuntimeOptions {
  /** One folder per agent is made in it. Belongs to one home. */
  readonly dataRoot: string
  /** The Node to run agents with. */
  readonly nodePath: string
  /** The agent as a file that Node can run. */
  readonly agentEntry: string
  /** The only variable of ours that agents get: where programs are found. */
  readonly path: string
  readonly clock: Clock
}

/**
 * ADAPTER of `sandbox-runtime.ts`: agents as plain processes of this user. Nothing is walled in: they see the owner's
 * files and network. For machines where no container engine can run, and only when asked for by name. Linux only.
 */
export function createProcessRuntime(options: ProcessRuntimeOptions): SandboxRuntime {
  const listeners = new Set<(end: SandboxEnd) => void>()
  /** Processes whose end nobody asked for yet, by agent id. */
  const running = new Map<string, ProcessRecord>()
  const closing = new AbortController()
  let watching: Promise<void> | null = null
  const folderOf = (agentId: string) => join(options.dataRoot, Buffer.from(agentId, 'utf8').toString('hex'))

  async function watch(): Promise<void> {
    while (!closing.signal.aborted) {
      for (const [agentId, record] of running) {
        if (await isAlive(record)) continue
        // Between the two looks a stop may have claimed this end.
        if (running.get(agentId) !== record) continue
        running.delete(agentId)
        const code = await exitCodeOf(folderOf(agentId), record)
        for (const listener of listeners) listener({ agentId, code, outOfMemory: false })
      }
      await options.clock.sleep(lookEveryMs, closing.signal).catch(() => undefined)
    }
  }

  async function halt(agentId: string, graceMs: number): Promise<void> {
    running.delete(agentId)
    const record = await readRecord(folderOf(agentId))
    if (record === null || !(await isAlive(record))) return
    await writeRecord(folderOf(agentId), { ...record, stoppedWith: graceMs > 0 ? 143 : 137 })
    if (graceMs > 0) {
      signalGroup(record.pid, 'SIGTERM')
      if (await gone(record, graceMs)) return
      await writeRecord(folderOf(agentId), { ...record, stoppedWith: 137 })
    }
    signalGroup(record.pid, 'SIGKILL')
    if (!(await gone(record, killWaitMs))) {
      throw new SandboxError(
        'process-survives',
        `The process ${record.pid} of ${agentId} does not end.\nRepair: kill -9 ${record.pid}`,
      )
    }
  }

  async function gone(record: ProcessRecord, boundMs: number): Promise<boolean> {
    const end = options.clock.now() + boundMs
    while (await isAlive(record)) {
      if (options.clock.now() >= end) return false
      await options.clock.sleep(20)
    }
    return true
  }

  async function stateOf(record: ProcessRecord): Promise<SandboxState> {
    const { agentId, labels, port } = record
    if (await isAlive(record)) return { agentId, running: true, labels, address: { host: '127.0.0.1', port } }
    const code = await exitCodeOf(folderOf(agentId), record)
    return { agentId, running: false, labels, exit: { code, outOfMemory: false } }
  }

  return {
    kind: 'process',
    isolates: false,
    doorHost: () => '127.0.0.1',
    networks: async () => [],

    async prepare({ progress }) {
      progress('Agents run as plain processes of this user: nothing is isolated')
      await mkdir(options.dataRoot, { recursive: true, mode: 0o700 })
      for (const record of await readAllRecords(options.dataRoot)) {
        if (await isAlive(record)) running.set(record.agentId, record)
      }
      watching ??= watch()
    },

    verifyWalls: async () => [],

    async start(spec) {
      try {
        await halt(spec.agentId, 0)
        const record = await launch(options, { spec, folder: folderOf(spec.agentId) })
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

    stop: (agentId, { graceMs }) => halt(agentId, graceMs),

    async remove(agentId, { data }) {
      await halt(agentId, 0)
      const folder = folderOf(agentId)
      if (data) await rm(folder, { recursive: true, force: true })
      else await rm(join(folder, 'sandbox.json'), { force: true })
    },

    async erase() {
      for (const record of await readAllRecords(options.dataRoot))
        await halt((await stateOf(record)).agentId, 0)
      await rm(options.dataRoot, { recursive: true, force: true })
    },

    async inspect(agentId) {
      const record = await readRecord(folderOf(agentId))
      return record === null ? null : stateOf(record)
    },

    list: async () => Promise.all((await readAllRecords(options.dataRoot)).map(stateOf)),
    logs: (agentId, maxBytes) => lastBytes(join(folderOf(agentId), 'log'), maxBytes),

    dataBound: () => ({ kind: 'meter', why: 'agents run as plain processes' }),
    measureData: (agentIds) =>
      measureFolders(agentIds.map((agentId) => ({ agentId, path: join(folderOf(agentId), 'data') }))),
    // There is no engine that could be away.
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

async function launch(
  options: ProcessRuntimeOptions,
  { spec, folder }: { readonly spec: SandboxSpec; readonly folder: string },
): Promise<ProcessRecord> {
  const data = join(folder, 'data')
  const entries = seedEntries(spec.files)
  await mkdir(data, { recursive: true, mode: 0o700 })
  for (const entry of entries) {
    const path = join(data, entry.name)
    await mkdir(entry.name.endsWith('/') ? path : dirname(path), { recursive: true, mode: 0o700 })
    if (entry.content instanceof Uint8Array && !entry.name.endsWith('/')) {
      await writeFile(path, entry.content, { mode: 0o600 })
      await chmod(path, 0o600)
    }
  }
  await rm(join(folder, 'exit'), { force: true })
  const port = await freePort()
  const log = await open(join(folder, 'log'), 'w', 0o600)
  try {
    const [, ...flags] = agentCommand(spec.memoryLimitBytes)
    // The shell notes the exit code, so that a mesh which comes later can tell it too.
    const command = [
      '-c',
      '"$@"; echo $? > "$0"',
      join(folder, 'exit'),
      options.nodePath,
      ...flags.slice(0, -1),
      options.agentEntry,
    ]
    const child = spawn('/bin/sh', command, {
      cwd: data,
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
      env: {
        ...spec.environment,
        PATH: options.path,
        HOME: data,
        FLOTILLA_PORT: String(port),
        FLOTILLA_LISTEN_HOST: '127.0.0.1',
        FLOTILLA_DATA: data,
        FLOTILLA_BRIEFING: spec.briefingDirectory,
      },
    })
    const pid = await new Promise<number>((resolve, reject) => {
      child.once('error', reject)
      child.once('spawn', () => resolve(child.pid ?? 0))
    })
    child.unref()
    const startTicks = (await startTicksOf(pid)) ?? 'gone'
    const record = {
      agentId: spec.agentId,
      pid,
      startTicks,
      port,
      labels: { ...spec.labels },
      stoppedWith: null,
    }
    await writeRecord(folder, record)
    return record
  } finally {
    await log.close()
  }
}

function signalGroup(pid: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(-pid, signal)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const address = server.address()
  await new Promise<void>((resolve) => server.close(() => resolve()))
  if (address === null || typeof address === 'string') throw new TypeError('a TCP listener has a port')
  return address.port
}

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
