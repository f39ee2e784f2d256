import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { chmod, mkdir, open, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { agentCommand } from '../hardening/container-options.ts'
import { seedEntries } from '../hardening/seed-entries.ts'
import type { SandboxSpec } from '../sandbox-spec.ts'
import { dataVariable } from './find-workers.ts'
import { bootId, startTicksOf, startUnknown, writeRecord, type ProcessRecord } from './process-record.ts'

/**
 * Waits for a line on its input before it starts the agent, and ends without one, because the mesh died
 * before it wrote the record. Afterwards it runs as long as the agent and records its exit code, so that a
 * later mesh can read it.
 */
const gate = 'read -r go || exit 125; trap : TERM; "$@" < /dev/null; echo $? > "$0"'

export interface LaunchOptions {
  /** The Node to run agents with. */
  readonly nodePath: string
  /** The agent as a file that Node can run. */
  readonly agentEntry: string
  /** The only environment variable that agents inherit from the mesh: the search path of programs. */
  readonly path: string
  /** Folder of Node's compile cache, shared by all agent starts. */
  readonly compiledModules: string
}

/**
 * Starts an agent in its folder, in which no other may run. The record is on the disk before the process
 * begins.
 */
export async function launchProcess(
  options: LaunchOptions,
  { spec, folder }: { readonly spec: SandboxSpec; readonly folder: string },
): Promise<ProcessRecord> {
  const data = join(folder, 'data')
  await layFiles(spec, data)
  await rm(join(folder, 'exit'), { force: true })
  const port = await freePort()
  const log = await open(join(folder, 'log'), 'w', 0o600)
  const [, ...flags] = agentCommand(spec.memoryLimitBytes)
  const agent = [options.nodePath, ...flags.slice(0, -1), options.agentEntry]
  let waiting: ChildProcess | null = null
  try {
    waiting = spawn('/bin/sh', ['-c', gate, join(folder, 'exit'), ...agent], {
      cwd: data,
      detached: true,
      stdio: ['pipe', log.fd, log.fd],
      env: {
        ...withBriefing(spec),
        PATH: options.path,
        HOME: data,
        NODE_COMPILE_CACHE: options.compiledModules,
        FLOTILLA_PORT: String(port),
        FLOTILLA_LISTEN_HOST: '127.0.0.1',
        [dataVariable]: data,
        FLOTILLA_BRIEFING: spec.briefingDirectory,
      },
    })
    // A process that ended at the gate is noticed by the watcher of the record.
    waiting.stdin?.on('error', () => undefined)
    const pid = await pidOf(waiting)
    waiting.unref()
    const record = {
      agentId: spec.agentId,
      pid,
      startTicks: (await startTicksOf(pid)) ?? startUnknown,
      bootId: await bootId(),
      port,
      labels: { ...spec.labels },
      stoppedWith: null,
    }
    await writeRecord(folder, record)
    waiting.stdin?.end('go\n')
    return record
  } catch (error) {
    waiting?.stdin?.destroy()
    throw error
  } finally {
    await log.close()
  }
}

async function layFiles(spec: SandboxSpec, data: string): Promise<void> {
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
}

function pidOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('spawn', () => resolve(child.pid ?? 0))
  })
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

/** The environment with paths below the agent's folder of bootstrap files, which is not mounted here. */
function withBriefing({ environment, briefingDirectory }: SandboxSpec): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [
      name,
      value.startsWith('/briefing/') ? join(briefingDirectory, value.slice('/briefing/'.length)) : value,
    ]),
  )
}
