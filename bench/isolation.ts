import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { request } from 'node:http'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { cachesFolder } from '@flotilla/protocol/compiled-modules'
import { isolationRungs } from '@flotilla/protocol/isolation'
import type { IsolationRung } from '@flotilla/protocol/isolation'
import { agentSandbox } from '../packages/mesh/src/agents/lifecycle/agent-sandbox.ts'
import { createMeshIdentity } from '../packages/mesh/src/agents/connection/mesh-identity.ts'
import { writeFileAtomically } from '../packages/mesh/src/config/atomic-file.ts'
import { silentLog } from '../packages/mesh/src/platform/log.ts'
import { randomToken, systemClock } from '../packages/mesh/src/platform/system-clock.ts'
import { createDockerRuntime } from '../packages/mesh/src/sandbox/docker-runtime.ts'
import { findEngine } from '../packages/mesh/src/sandbox/engine/find-engine.ts'
import type { Engine } from '../packages/mesh/src/sandbox/engine/connect-engine.ts'
import type { SandboxRuntime, SandboxState } from '../packages/mesh/src/sandbox/sandbox-runtime.ts'
import { sandboxName } from '../packages/mesh/src/sandbox/sandbox-spec.ts'
import type { Bench, BenchOptions, BenchReport } from './bench.ts'
import { rotated } from './bench.ts'
import { median } from './statistics.ts'
import { figure, mega } from './table.ts'

const root = join(import.meta.dirname, '..')
const uid = process.getuid?.() ?? -1
const answerTimeoutMs = 60_000
const askEveryMs = 10
const requests = 50
/** Idle for so long before its memory is looked at. */
const restMs = 2_000

/** What one agent on one rung did in one round. */
interface Round {
  readonly rung: IsolationRung
  readonly readyMs: number
  readonly memoryBytes: number
  readonly requestMs: number
  readonly forksPerSecond: number
  readonly writesPerSecond: number
}

export const isolationBench: Bench = {
  name: 'isolation',
  claim: 'what a worker costs and can do on each rung of isolation that this machine has',
  defaultRuns: 5,
  run: async (options) => {
    const ground = await prepareRuntime(options)
    try {
      return await measure(ground, options)
    } finally {
      await ground.runtime.erase({ progress: () => {} })
      await ground.runtime.close()
    }
  },
}

interface RuntimeGround {
  readonly engine: Engine
  readonly runtime: SandboxRuntime
  readonly homeId: string
  readonly briefingDirectory: string
}

async function prepareRuntime({ folder, progress, signal }: BenchOptions): Promise<RuntimeGround> {
  const hints = {
    uid,
    engineSocket: process.env['FLOTILLA_ENGINE_SOCKET'],
    dockerHost: process.env['DOCKER_HOST'],
  }
  const { engine } = await findEngine(hints)
  if (engine === null) throw new Error('no container engine answers; npm run demo sets one up')
  const homeId = `bench-${randomBytes(6).toString('hex')}`
  const briefingDirectory = join(folder, 'briefing')
  await mkdir(briefingDirectory)
  const runtime = createDockerRuntime({
    homeId,
    ...hints,
    noInstall: false,
    stateDirectory: join(cachesFolder(process.env['XDG_CACHE_HOME'], homedir()), 'flotilla', 'engine'),
    cacheDirectory: join(root, 'node_modules', '.cache', 'flotilla'),
    recipeDirectory: join(root, 'images', 'agent'),
    machineRecipeDirectory: join(root, 'images', 'machine'),
    packageDirectory: root,
    agentEntry: join(root, 'packages', 'agent', 'src', 'main.ts'),
    doorPorts: [8420, 8421],
    browser: {
      recipeDirectory: join(root, 'images', 'browser'),
      browserEntry: join(root, 'packages', 'browser', 'src', 'main.ts'),
      proxyPort: 8421,
    },
    volumesFolder: join(folder, 'volumes'),
    path: process.env['PATH'] ?? '',
    clock: systemClock,
    log: silentLog,
  })
  await runtime.prepare({ progress, signal })
  return { engine, runtime, homeId, briefingDirectory }
}

async function measure(ground: RuntimeGround, { runs, progress }: BenchOptions): Promise<BenchReport> {
  const rungs: IsolationRung[] = []
  const notes: string[] = []
  for (const rung of isolationRungs) {
    const { available, detail } = await ground.runtime.tryRung(rung)
    if (available) rungs.push(rung)
    notes.push(available ? `${rung}: ${detail || 'runc'}.` : `${rung} cannot be had here: ${detail}`)
  }
  const rounds: Round[] = []
  for (let round = 0; round < runs; round += 1) {
    progress(`round ${round + 1} of ${runs}`)
    for (const rung of rotated(rungs, round)) rounds.push(await oneRound(ground, rung))
  }
  const column = (rung: IsolationRung, name: Exclude<keyof Round, 'rung'>) =>
    median(rounds.filter((one) => one.rung === rung).map((one) => one[name]))
  return {
    tables: [
      {
        title: 'Isolation: a worker, 0.15 CPU, 384 MB',
        columns: ['', 'ready ms', 'idle MB', 'request ms', 'programs/s', 'files/s'],
        rows: rungs.map((rung) => [
          rung,
          figure(column(rung, 'readyMs'), 0),
          mega(column(rung, 'memoryBytes')),
          figure(column(rung, 'requestMs'), 1),
          figure(column(rung, 'forksPerSecond'), 1),
          figure(column(rung, 'writesPerSecond'), 0),
        ]),
        notes: [
          `Medians of ${runs} interleaved rounds. Ready: from the creation to the first 200 on /status and the share of a worker. Idle: what the machine gives for it ${restMs / 1000} s later. Request: GET /healthz. Programs: started and waited for one after the other. Files: of 4 KB, made in /data. Neither is measured in a microvm: the engine starts nothing inside of one.`,
          ...notes,
        ],
      },
    ],
    figures: { rounds },
  }
}

async function oneRound(ground: RuntimeGround, rung: IsolationRung): Promise<Round> {
  const agentId = `bench-${rung}`
  const { runtime } = ground
  const tokens = { door: randomToken(), program: randomToken() }
  await writeFileAtomically(join(ground.briefingDirectory, 'door-token'), tokens.door, 0o644)
  const began = performance.now()
  const state = await runtime.start(specOf(ground, { agentId, rung, tokens }))
  const ask = (path: string) => statusOf(state, path, tokens.door)
  const end = began + answerTimeoutMs
  while ((await ask('/status')) !== 200) {
    if (performance.now() > end) throw new Error(`no answer on ${rung}\n${await runtime.logs(agentId, 1000)}`)
    await delay(askEveryMs)
  }
  await runtime.endStartShare(agentId)
  const readyMs = performance.now() - began
  await delay(restMs)
  const memoryBytes = (await runtime.measureUse([agentId])).get(agentId)?.memoryBytes ?? Number.NaN
  const times: number[] = []
  for (let asked = 0; asked < requests; asked += 1) {
    const from = performance.now()
    await ask('/healthz')
    times.push(performance.now() - from)
  }
  // What the engine starts beside a machine runs outside of it, and would tell of the container around it.
  const beside = rung !== 'microvm'
  const forksPerSecond = beside ? await rateOf(ground, agentId, forkProgram) : Number.NaN
  const writesPerSecond = beside ? await rateOf(ground, agentId, writeProgram) : Number.NaN
  await runtime.remove(agentId, { data: true })
  return { rung, readyMs, memoryBytes, requestMs: median(times), forksPerSecond, writesPerSecond }
}

const forkProgram =
  "const {spawnSync}=require('node:child_process');const t=performance.now();for(let i=0;i<20;i++)spawnSync('/bin/true');console.log('rate',20000/(performance.now()-t))"
const writeProgram =
  "const fs=require('node:fs');const b=Buffer.alloc(4096,1);fs.mkdirSync('/data/w');const t=performance.now();for(let i=0;i<500;i++)fs.writeFileSync('/data/w/'+i,b);console.log('rate',500000/(performance.now()-t))"

function specOf(
  ground: RuntimeGround,
  asked: {
    readonly agentId: string
    readonly rung: IsolationRung
    readonly tokens: { readonly door: string; readonly program: string }
  },
) {
  const { rung } = asked
  return agentSandbox({
    agent: {
      id: asked.agentId,
      kind: 'worker',
      role: 'bench',
      instructions: '',
      model: null,
      project: null,
      createdAt: 0,
      budget: { dailyUsd: 10, monthlyUsd: 200 },
    },
    model: 'bench/none',
    startId: 'start_bench',
    tokens: asked.tokens,
    door: {
      host: ground.runtime.doorHost(),
      port: 8420,
      proxyPort: 8421,
      publicKeyBase64url: createMeshIdentity({ secret: 'of this bench', clock: systemClock })
        .publicKeyBase64url,
    },
    link: null,
    briefingDirectory: ground.briefingDirectory,
    dataLimitBytes: 256 * 1024 ** 2,
    loopLimits: {},
    placed: { rung, wish: { wanted: rung, floor: rung }, fallback: null },
  })
}

/** The status, or null where nobody listens. */
function statusOf({ address }: SandboxState, path: string, token: string): Promise<number | null> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${token}` }
    const asked = request({ ...address, path, headers, agent: false }, (reply) => {
      reply.resume()
      reply.once('end', () => resolve(reply.statusCode ?? null))
      reply.once('error', () => resolve(null))
    })
    asked.setTimeout(answerTimeoutMs, () => asked.destroy())
    asked.once('error', () => resolve(null))
    asked.end()
  })
}

/** What a program says that runs beside the agent, within its share. */
async function rateOf({ engine, homeId }: RuntimeGround, agentId: string, program: string): Promise<number> {
  const exec = await engine.docker.getContainer(sandboxName(homeId, agentId)).exec({
    Cmd: ['node', '-e', program],
    User: '1000:1000',
    AttachStdout: true,
    AttachStderr: true,
  })
  const stream = await exec.start({})
  const said = new PassThrough()
  engine.docker.modem.demuxStream(stream, said, said)
  stream.once('end', () => said.end())
  let text = ''
  for await (const piece of said) text += String(piece)
  const rate = Number(/rate ([\d.]+)/.exec(text)?.[1])
  if (!Number.isFinite(rate))
    throw new Error(`a program beside ${agentId} gave no figure: ${text.slice(0, 300)}`)
  return rate
}
