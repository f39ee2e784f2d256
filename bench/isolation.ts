import { randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { homedir, loadavg } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { cachesFolder } from '@flotilla/protocol/compiled-modules'
import { isolationRungs } from '@flotilla/protocol/isolation'
import type { IsolationRung } from '@flotilla/protocol/isolation'
import { agentSandbox } from '../packages/fleet/src/agents/lifecycle/agent-sandbox.ts'
import { agentSize } from '../packages/fleet/src/sandbox/default-agent-sizes.ts'
import { createMeshIdentity } from '../packages/fleet/src/agents/connection/mesh-identity.ts'
import { writeFileAtomically } from '../packages/foundation/src/config/atomic-file.ts'
import { silentLog } from '../packages/foundation/src/platform/log.ts'
import { randomToken, systemClock } from '../packages/foundation/src/platform/system-clock.ts'
import { noProxies } from '../packages/foundation/src/config/proxy-environment.ts'
import { createDockerRuntime } from '../packages/fleet/src/sandbox/docker/docker-runtime.ts'
import { findEngine } from '../packages/fleet/src/sandbox/engine/find-engine.ts'
import type { SandboxRuntime, SandboxState } from '../packages/fleet/src/sandbox/sandbox-runtime.ts'
import type { Bench, BenchOptions, BenchReport } from './bench.ts'
import { rotated } from './bench.ts'
import { median } from './statistics.ts'
import { figure, mega } from './table.ts'

const root = join(import.meta.dirname, '..')
const uid = process.getuid?.() ?? -1
/** Longest wait for an answer, milliseconds: under emulation and load, booting a kernel takes minutes. */
const answerTimeoutMs = 600_000
const askEveryMs = 10
const requests = 50
/** How long an agent is idle before its memory is measured. */
const restMs = 2_000

/** The measurements of one agent on one isolation level in one round. */
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
  claim: 'what a worker costs and can do at each isolation level that this machine has',
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
  readonly runtime: SandboxRuntime
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
  const caches = join(cachesFolder(process.env['XDG_CACHE_HOME'], homedir()), 'flotilla')
  const homeId = `bench-${randomBytes(6).toString('hex')}`
  const briefingDirectory = join(folder, 'briefing')
  await mkdir(briefingDirectory)
  const runtime = createDockerRuntime({
    homeId,
    ...hints,
    noInstall: false,
    stateDirectory: join(caches, 'engine'),
    // Uses the images that the fleets of this machine have, so that none is built again.
    cacheDirectory: join(caches, 'images'),
    recipeDirectory: join(root, 'images', 'agent'),
    machineRecipeDirectory: join(root, 'images', 'machine'),
    packages: {
      recipeDirectory: join(root, 'images', 'packages'),
      hostPlaces: { userFolder: homedir(), variables: process.env },
      proxies: noProxies,
    },
    packageDirectory: root,
    agentEntry: join(root, 'packages', 'agent', 'src', 'main.ts'),
    meshPorts: [8420, 8421],
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
  await writeFile(join(briefingDirectory, worksProgram.name), worksProgram.text)
  return { runtime, briefingDirectory }
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
  const loads: string[] = []
  for (let round = 0; round < runs; round += 1) {
    loads.push(figure(loadavg()[0] ?? Number.NaN, 1))
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
          `Medians of ${runs} interleaved rounds. Ready: from the creation to the first 200 on /status and the share of a worker. Idle: what the machine gives for it ${restMs / 1000} s later. Request: GET /healthz. Programs: started and waited for one after the other. Files: of 4 KB, made in /data. Load of the machine in each round: ${loads.join(', ')}.`,
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
  const began = performance.now()
  const ask = await startUntil(ground, { agentId, rung, environment: {} }, '/status')
  const readyMs = performance.now() - began
  await delay(restMs)
  const memoryBytes = (await runtime.measureUse([agentId])).get(agentId)?.memoryBytes ?? Number.NaN
  const times: number[] = []
  for (let asked = 0; asked < requests; asked += 1) {
    const from = performance.now()
    await ask('/healthz')
    times.push(performance.now() - from)
  }
  const works = await startUntil(ground, { agentId, rung, environment: worksProgram.environment }, '/begun')
  const forksPerSecond = await rateOf(() => works('/programs'), programs)
  const writesPerSecond = await rateOf(() => works('/files'), files)
  await runtime.remove(agentId, { data: true })
  return { rung, readyMs, memoryBytes, requestMs: median(times), forksPerSecond, writesPerSecond }
}

/**
 * Starts an agent, and waits until it answers and has its usual CPU share. Returns a function that sends a request
 * to it.
 */
async function startUntil(
  ground: RuntimeGround,
  asked: { agentId: string; rung: IsolationRung; environment: Readonly<Record<string, string>> },
  path: string,
): Promise<(path: string) => Promise<number | null>> {
  const { runtime } = ground
  const { agentId, rung, environment } = asked
  const tokens = { door: randomToken(), program: randomToken() }
  await writeFileAtomically(join(ground.briefingDirectory, 'door-token'), tokens.door, 0o644)
  const end = performance.now() + answerTimeoutMs
  const spec = specOf(ground, { agentId, rung, tokens })
  const state = await runtime.start({ ...spec, environment: { ...spec.environment, ...environment } })
  const ask = (to: string) => statusOf(state, to, tokens.door)
  while ((await ask(path)) !== 200) {
    if (performance.now() > end)
      throw new Error(`no answer on ${rung} to ${path}\n${await runtime.logs(agentId, 1000)}`)
    await delay(askEveryMs)
  }
  await runtime.endStartShare(agentId)
  return ask
}

const programs = 20
const files = 500

/**
 * Replaces the agent program in its sandbox, because no engine can start a program inside a virtual machine. On
 * request it starts programs or creates files. The caller measures the time, because its clock is not emulated.
 */
const worksProgram = {
  name: 'works.cjs',
  environment: { NODE_OPTIONS: '--require=/briefing/works.cjs' },
  text: `const { spawnSync } = require('node:child_process')
const { mkdirSync, writeFileSync } = require('node:fs')
const works = {
  '/begun': () => {},
  '/programs': () => { for (let at = 0; at < ${programs}; at++) if (spawnSync('/bin/true', { env: {} }).status !== 0) throw new Error('no program') },
  '/files': () => { mkdirSync('/data/w'); for (let at = 0; at < ${files}; at++) writeFileSync('/data/w/' + at, Buffer.alloc(4096, 1)) },
}
require('node:module').runMain = () => require('node:http').createServer((asked, reply) => { works[asked.url](); reply.end() }).listen(8400, '0.0.0.0')
`,
} as const

async function rateOf(work: () => Promise<number | null>, times: number): Promise<number> {
  const from = performance.now()
  if ((await work()) !== 200) throw new Error('a sandbox did not do what it was asked for')
  return times / ((performance.now() - from) / 1000)
}

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
    endpoint: {
      host: ground.runtime.listenHost(),
      port: 8420,
      proxyPort: 8421,
      publicKeyBase64url: createMeshIdentity({ secret: 'of this bench', clock: systemClock })
        .publicKeyBase64url,
    },
    link: null,
    briefingDirectory: ground.briefingDirectory,
    dataLimitBytes: 256 * 1024 ** 2,
    loopLimits: {},
    programs: { environment: {}, files: {}, mark: '' },
    packages: { mark: '', id: null },
    size: agentSize('worker'),
    placed: { rung, wish: { wanted: rung, floor: rung }, fallback: null },
  })
}

/** The status; null if no process listens. */
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
