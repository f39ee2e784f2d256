import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, delimiter, join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { cronHumanEndpoints } from '@flotilla/protocol/cron-api'
import { webhookApi, webhookEndpoints } from '@flotilla/protocol/webhook-api'
import type { RuntimeName } from '@flotilla/protocol/runtime-names'
import { operatorAgentId } from '@flotilla/protocol/ids'
import { findEngine } from '../../packages/fleet/src/sandbox/engine/find-engine.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { meshCalls } from '../support/mesh-calls.ts'
import type { MeshCalls } from '../support/mesh-calls.ts'
import { meshArguments, pinnedNode, runMeshCommand } from '../support/mesh-process.ts'
import { endProcessesOf } from './agent-processes.ts'
import type { Hook } from './ask-for-work.ts'
import type { Chance } from './chance.ts'
import { clusterGround } from './cluster-ground.ts'
import type { ClusterHands } from './cluster-ground.ts'
import { containerGround } from './container-ground.ts'
import type { Ground } from './ground.ts'
import { mountHomeDisk } from './home-disk.ts'
import type { HomeDisk } from './home-disk.ts'
import { startOutsideServer } from './outside-server.ts'
import type { OutsideServer } from './outside-server.ts'
import { price, startPlannedModel } from './planned-model.ts'
import type { PlannedModel } from './planned-model.ts'
import { processGround } from './process-ground.ts'
import { superviseMesh } from './supervise-mesh.ts'
import type { Supervisor } from './supervise-mesh.ts'
import { sayPlan, topic } from './steps.ts'
import { workers } from './work-plan.ts'

/** A fleet in a home of its own, with the servers around it. */
export interface Stage {
  readonly home: string
  /** The mesh's folder for temporary files. */
  readonly temporary: string
  readonly supervisor: Supervisor
  readonly ground: Ground
  readonly model: PlannedModel
  readonly outside: OutsideServer
  /** Null if the home lies on the disk of this machine. */
  readonly disk: HomeDisk | null
  readonly hooks: ReadonlyMap<string, Hook>
  /** Jobs that fire during the chaos test. */
  readonly jobs: readonly string[]
  command(name: string): Promise<{ readonly code: number | null; readonly said: string }>
  /** Stops and removes everything. */
  close(): Promise<void>
}

export async function openStage(options: {
  readonly runtime: RuntimeName
  /** Given if agents run in pods. */
  readonly cluster?: ClusterHands
  readonly chance: Chance
  readonly progress: (step: string) => void
}): Promise<Stage> {
  const { runtime, cluster, chance, progress } = options
  const outside = await startOutsideServer(chance.fork('outside'))
  const model = await startPlannedModel({ chance: chance.fork('model'), outside: outside.address })
  const root = await mkdtemp(join(tmpdir(), 'flotilla-chaos-'))
  const [home, temporary] = [join(root, 'home'), join(root, 'tmp')]
  await mkdir(home)
  // Containers bind folders of the home, which must be on the engine's disk.
  const disk = runtime === 'process' ? mountHomeDisk(home) : null
  await mkdir(join(home, 'config'), { recursive: true })
  await mkdir(temporary)
  await writeFile(join(home, 'config', 'settings.json'), settingsText(model, outside))
  const environment = { ...environmentOf(temporary), ...cluster?.environment }
  progress(`The home is ${home}`)
  const supervisor = superviseMesh({ home, runtime, environment })
  const mesh = meshCalls(supervisor.url)
  const meshCommand = async (name: string) => {
    const words = meshArguments(name, '--home', home, '--runtime', runtime)
    const { code, lines, errors } = await runMeshCommand(words, environment)
    return { code, said: lines.map((line) => JSON.stringify(line)).join('\n') + errors }
  }
  const close = async (): Promise<void> => {
    await supervisor.end()
    // Needed after an aborted test; after a complete one nothing is left to reset.
    if (runtime !== 'process') await meshCommand('reset')
    await endProcessesOf(home)
    await Promise.all([model.close(), outside.close()])
    disk?.unmount()
    await rm(root, { recursive: true, force: true, maxRetries: 5 })
  }
  try {
    await supervisor.ready(600_000)
    return { home, temporary, supervisor, model, outside, disk, close, ...(await furnish()) }
  } catch (error) {
    await close()
    throw error
  }

  async function furnish(): Promise<Pick<Stage, 'ground' | 'hooks' | 'jobs' | 'command'>> {
    for (const id of workers) await mesh.createWorker(id)
    await allow(home, supervisor.url())
    const hooks = await makeHooks(mesh)
    const jobs = await makeJobs(mesh)
    return {
      hooks,
      jobs,
      ground: await groundOf({ home, mesh, cluster, runtime, disk }),
      command,
    }
  }

  async function command(name: string): Promise<{ code: number | null; said: string }> {
    if (name !== 'stop') return meshCommand(name)
    const { code, out, err } = await flotilla({ home }, 'stop', '--home', home)
    return { code, said: out + err }
  }
}

async function groundOf(of: {
  readonly home: string
  readonly mesh: MeshCalls
  readonly cluster: ClusterHands | undefined
  readonly runtime: RuntimeName
  readonly disk: HomeDisk | null
}): Promise<Ground> {
  const { home, mesh, cluster } = of
  if (of.runtime === 'process') return processGround(home, of.disk?.disturbances)
  const homeId = (await readFile(join(home, 'data', 'home-id'), 'utf8')).trim()
  if (cluster) return clusterGround(cluster, { home, homeId })
  return containerGround(await engine(), {
    home,
    homeId,
    wake: async (agent) => void (await mesh.invoke(agent, 'run_command', { command: 'true' })),
  })
}

function settingsText(model: PlannedModel, outside: OutsideServer): string {
  return JSON.stringify({
    default_model: 'fake/planned',
    providers: { fake: { kind: 'openai-compatible', base_url: model.baseUrl } },
    models: { 'fake/planned': { price } },
    egress: { allowed_private: [outside.place] },
    webhooks: { per_minute: 5000 },
    // Agents are killed far more often here than healthy agents crash.
    restarts_per_hour: 1000,
    // Agents without work for a minute hibernate by themselves; others are hibernated by request.
    hibernate_after_minutes: 1,
  })
}

function environmentOf(temporary: string): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('FLOTILLA_') || name === 'FLOTILLA_ENGINE_SOCKET',
  )
  const path = [dirname(pinnedNode), process.env['PATH'] ?? '/usr/bin:/bin'].join(delimiter)
  return { ...Object.fromEntries(inherited), PATH: path, TMPDIR: temporary, FLOTILLA_NO_INSTALL: '1' }
}

async function allow(home: string, url: string): Promise<void> {
  const given = {
    can_publish: topic,
    blackboard_write: 'output/**',
    can_manage_cron: 'true',
    can_message: '*',
    can_spawn: 'true',
    can_route_tasks: 'true',
  }
  for (const agent of [operatorAgentId, ...workers]) {
    const rights = Object.entries(given)
      .filter(([field]) => agent !== operatorAgentId || field === 'can_publish')
      .map(([field, value]) => `${field}=${value}`)
    const { code, err } = await flotilla({ home, url }, 'permissions', 'set', agent, '--yes', ...rights)
    if (code !== 0) throw new Error(`the chaos could not give ${agent} its rights: ${err}`)
  }
}

async function makeHooks(mesh: MeshCalls): Promise<Map<string, Hook>> {
  const hooks = new Map<string, Hook>()
  for (const agent of workers) {
    const reply = await mesh.call(webhookEndpoints.webhookCreate, { body: { name: 'work', agent_id: agent } })
    const { webhook, secret } = webhookApi.webhookCreate.response.parse(reply.json())
    hooks.set(agent, { path: webhook.path, secret: secret ?? '' })
  }
  return hooks
}

/** Creates the jobs. Each firing repeats their plan, so their markers begin with `j`. */
async function makeJobs(mesh: MeshCalls): Promise<string[]> {
  const made: string[] = []
  for (const [index, agent] of workers.slice(0, 2).entries()) {
    const message = sayPlan({
      marker: `j${index + 1}`,
      steps: [{ name: 'board' }, { name: index === 0 ? 'signal' : 'post' }],
    })
    const body = { agent, schedule: 'every 15s', message }
    const reply = await mesh.call(cronHumanEndpoints.cronCreate, { body })
    if (reply.status >= 300) throw new Error(`a job was refused: ${reply.text}`)
    made.push(String(reply.json()['id']))
  }
  return made
}

/**
 * Disables the jobs in the mesh process that is running, so that no further run starts. Past firings stay readable.
 */
export async function silenceJobs(stage: Stage): Promise<void> {
  const mesh = meshCalls(stage.supervisor.url)
  for (const id of stage.jobs) {
    for (let tries = 0; tries < 20; tries++) {
      await stage.supervisor.ready()
      const change = { params: { id }, body: { enabled: false } }
      const reply = await mesh.call(cronHumanEndpoints.cronUpdate, change).catch(() => null)
      if (reply && reply.status < 300) break
      await sleep(200)
    }
  }
}

async function engine() {
  const found = await findEngine({
    uid: process.getuid?.() ?? 0,
    engineSocket: process.env['FLOTILLA_ENGINE_SOCKET'],
    dockerHost: process.env['DOCKER_HOST'],
  })
  if (!found.engine) throw new Error(`no container engine answers (${found.tried.join('; ')})`)
  return found.engine.docker
}
