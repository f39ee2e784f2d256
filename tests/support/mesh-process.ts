import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { programNodeFlags } from '@flotilla/protocol/built-program'
import type { RuntimeName } from '@flotilla/protocol/runtime-names'
import { onTestFinished } from 'vitest'
import type { Cassette } from '../../packages/inference/src/models/recording/cassette.ts'
import { isAlive, readAllRecords } from '../../packages/fleet/src/sandbox/process/process-record.ts'
import type { ProcessRecord } from '../../packages/fleet/src/sandbox/process/process-record.ts'
import { meshCalls } from './mesh-calls.ts'
import type { MeshCalls } from './mesh-calls.ts'
import { patient } from './patience.ts'
import { meshProgram } from './programs.ts'

/** Maximum time until a mesh is ready; the first start of a container fleet may build its image. */
const readyMaxMs = {
  process: patient(40_000),
  docker: patient(540_000),
  kubernetes: patient(240_000),
} as const
const stopMaxMs = patient(30_000)

export const repositoryRoot = fileURLToPath(new URL('../..', import.meta.url))

export interface MeshOptions {
  readonly runtime?: RuntimeName
  readonly cassettes?: Readonly<Record<string, Cassette>>
  /** Content of `config/settings.json`; the default model is the first cassette. */
  readonly settings?: Readonly<Record<string, unknown>>
  readonly environment?: Readonly<Record<string, string>>
  /** 0 selects any free port. */
  readonly port?: number
  readonly agentPort?: number
  /** Command that starts the process, such as a program that gives it a private view of the file system. */
  readonly startedBy?: readonly string[]
}

export interface MeshProcess extends MeshCalls {
  readonly home: string
  readonly runtime: RuntimeName
  /** Process id of the present mesh process. */
  readonly pid: number
  /** Everything that all mesh processes of this home have printed. */
  log(): string
  /** JSON lines on standard output, of all mesh processes of this home. */
  told(): readonly Readonly<Record<string, unknown>>[]
  /** Kills only the mesh process, as a power cut would. */
  kill9(): Promise<void>
  /** Sends SIGTERM; resolves to the exit code. */
  terminate(): Promise<number | null>
  /** Starts the mesh again on the same home and port. */
  restart(): Promise<void>
  /** Starts the mesh again if a failed test left it stopped, so that later tests of the file are not affected. */
  restartIfStopped(): Promise<void>
  /** Path of an agent's `/data` (`process` runtime). */
  dataOf(agent: string): string
  /** Recorded processes of the agents, running or ended (`process` runtime). */
  agentProcesses(): Promise<readonly ProcessRecord[]>
  /** Runs another command of the mesh program on the same home. */
  command(name: string, more?: readonly string[]): Promise<CommandEnd>
  /** Stops everything and deletes the home. Runs automatically when the test that started the mesh ends. */
  stop(): Promise<void>
}

export interface CommandEnd {
  readonly code: number | null
  readonly lines: readonly Readonly<Record<string, unknown>>[]
  readonly errors: string
}

/** Starts a real mesh in a new home, and stops and deletes it when the test ends. */
export async function startMeshForTest(options: MeshOptions = {}): Promise<MeshProcess> {
  const mesh = await startMesh(options)
  onTestFinished(() => mesh.stop(), stopMaxMs * 4)
  return mesh
}

/** A mesh that is not started yet, on a copy of the home of a stopped mesh; deleted when the test ends. */
export async function copyMeshForTest(
  stopped: Pick<MeshProcess, 'home'>,
  options: MeshOptions = {},
): Promise<MeshProcess> {
  const home = await mkdtemp(join(tmpdir(), 'flotilla-flow-'))
  await cp(stopped.home, home, { recursive: true })
  const mesh = openMesh(home, options)
  onTestFinished(() => mesh.stop(), stopMaxMs * 4)
  return mesh
}

/** Starts a real mesh in a new home. The caller must `stop` it. */
export async function startMesh(options: MeshOptions = {}): Promise<MeshProcess> {
  const home = await mkdtemp(join(tmpdir(), 'flotilla-flow-'))
  await mkdir(join(home, 'config'), { recursive: true })
  await mkdir(join(home, 'cassettes'), { recursive: true })
  const cassettes = Object.entries(options.cassettes ?? {})
  const first = cassettes[0]?.[0]
  const settings = {
    ...(first === undefined ? {} : { default_model: `scripted/${first}` }),
    ...options.settings,
  }
  await writeFile(join(home, 'config', 'settings.json'), JSON.stringify(settings, null, 2))
  for (const [name, cassette] of cassettes) {
    await writeFile(join(home, 'cassettes', `${name}.json`), JSON.stringify(cassette, null, 2))
  }
  const mesh = openMesh(home, options)
  try {
    await mesh.restart()
  } catch (error) {
    await mesh.stop()
    throw error
  }
  return mesh
}

/** Opens an existing home; no mesh is started yet. */
export function openMesh(home: string, options: MeshOptions = {}): MeshProcess {
  const runtime = options.runtime ?? 'process'
  const environment = environmentOf(options)
  let life: Life | null = null
  let url = ''
  let printed = ''
  const lines: Readonly<Record<string, unknown>>[] = []

  function argumentsFor(command: string): string[] {
    const port = url === '' ? (options.port ?? 0) : Number(new URL(url).port)
    const agentPort = options.agentPort === undefined ? [] : ['--agent-port', String(options.agentPort)]
    return [
      meshProgram(),
      command,
      '--home',
      home,
      '--port',
      String(port),
      ...agentPort,
      '--runtime',
      runtime,
    ]
  }

  const runs = () => life !== null && life.child.exitCode === null && life.child.signalCode === null

  async function restart(): Promise<void> {
    if (runs()) throw new Error('the mesh still runs')
    const [program, ...given] = [
      ...(options.startedBy ?? []),
      pinnedNode,
      ...programNodeFlags,
      ...argumentsFor('serve'),
    ]
    const child = spawn(program ?? pinnedNode, given, {
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    life = { child, ended: endOf(child) }
    child.stderr.on('data', (piece: Buffer) => (printed += piece.toString()))
    const ready = new Promise<string>((resolve, reject) => {
      eachJsonLine(child, (line, text) => {
        printed += `${text}\n`
        lines.push(line)
        if (line['ready'] === true) resolve(String(line['url']))
      })
      void life?.ended.then((code) =>
        reject(new Error(`the mesh ended with ${code}:\n${printed.slice(-3000)}`)),
      )
    })
    const late = new AbortController()
    const bound = sleep(readyMaxMs[runtime], null, { signal: late.signal }).then(() => {
      child.kill('SIGKILL')
      throw new Error(`the mesh was not ready in ${readyMaxMs[runtime]} ms:\n${printed.slice(-3000)}`)
    })
    bound.catch(() => undefined)
    try {
      url = await Promise.race([ready, bound])
    } finally {
      late.abort()
    }
  }

  async function terminate(): Promise<number | null> {
    if (!life) return null
    if (life.child.exitCode === null && life.child.signalCode === null) life.child.kill('SIGTERM')
    const ended = await Promise.race([life.ended, sleep(stopMaxMs, 'late' as const, { ref: false })])
    if (ended !== 'late') return ended
    life.child.kill('SIGKILL')
    throw new Error(`the mesh did not stop in ${stopMaxMs} ms:\n${printed.slice(-2000)}`)
  }

  return {
    ...meshCalls(() => url),
    get url() {
      return url
    },
    home,
    runtime,
    get pid() {
      return life?.child.pid ?? 0
    },
    log: () => printed,
    told: () => lines,
    restart,
    terminate,
    restartIfStopped: async () => (runs() ? undefined : restart()),
    async kill9() {
      if (!life?.child.pid) throw new Error('the mesh does not run')
      process.kill(life.child.pid, 'SIGKILL')
      await life.ended
    },
    dataOf: (agent) => join(home, 'data', 'agents', Buffer.from(agent).toString('hex'), 'data'),
    agentProcesses: () => readAllRecords(join(home, 'data', 'agents')),
    command: (name, more = []) => runMeshCommand([...argumentsFor(name), ...more], environment),
    async stop() {
      try {
        await terminate()
      } finally {
        if (runtime !== 'process') await runMeshCommand(argumentsFor('reset'), environment)
        await killProcesses(await readAllRecords(join(home, 'data', 'agents')))
        await rm(home, { recursive: true, force: true, maxRetries: 5 })
      }
    },
  }
}

/** Runs the program with these arguments and waits until it ends. */
export async function runMeshCommand(
  argumentList: readonly string[],
  environment: NodeJS.ProcessEnv = environmentOf({}),
): Promise<CommandEnd> {
  const child = spawn(pinnedNode, [...programNodeFlags, ...argumentList], {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const lines: Readonly<Record<string, unknown>>[] = []
  let errors = ''
  eachJsonLine(child, (line) => lines.push(line))
  child.stderr.on('data', (piece: Buffer) => (errors += piece.toString()))
  return { code: await endOf(child), lines, errors }
}

/** The program of the mesh with its command and flags, for `runMeshCommand`. */
export function meshArguments(command: string, ...flags: readonly string[]): string[] {
  return [meshProgram(), command, ...flags]
}

interface Life {
  readonly child: ChildProcess
  readonly ended: Promise<number | null>
}

/** The Node version that the project pins, or the one that runs the tests where the pinned one has no build. */
export const pinnedNode = process.versions.node.startsWith('26.')
  ? process.execPath
  : join(repositoryRoot, 'node_modules', `node-linux-${process.arch}`, 'bin', 'node')

function environmentOf({ environment = {} }: MeshOptions): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('FLOTILLA_') || name === 'FLOTILLA_ENGINE_SOCKET',
  )
  const path = [dirname(pinnedNode), process.env['PATH'] ?? '/usr/bin:/bin'].join(delimiter)
  return { ...Object.fromEntries(inherited), PATH: path, ...environment }
}

function endOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => child.once('close', (code) => resolve(code)))
}

function eachJsonLine(
  child: ChildProcess,
  hear: (line: Readonly<Record<string, unknown>>, text: string) => void,
): void {
  let rest = ''
  child.stdout?.on('data', (piece: Buffer) => {
    const texts = (rest + piece.toString()).split('\n')
    rest = texts.pop() ?? ''
    for (const text of texts)
      if (text.startsWith('{')) hear(JSON.parse(text) as Record<string, unknown>, text)
  })
}

/** Ends agents that outlived their mesh: only recorded processes, each with its own process group. */
async function killProcesses(records: readonly ProcessRecord[]): Promise<void> {
  for (const record of records) {
    if (await isAlive(record)) process.kill(-record.pid, 'SIGKILL')
  }
}
