import { request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type Dockerode from 'dockerode'
import { volumeName } from '../packages/fleet/src/sandbox/hardening/container-options.ts'
import { holdToShare } from '../packages/fleet/src/sandbox/docker/own-share.ts'
import { sandboxSizes } from '../packages/fleet/src/sandbox/default-agent-sizes.ts'
import { sandboxName } from '../packages/fleet/src/sandbox/sandbox-spec.ts'
import { containerGroup } from './cgroup.ts'
import type { ContainerGroup } from './cgroup.ts'
import type { BenchGround } from './container-ground.ts'
import type { AgentKind, Variant } from './container-variants.ts'

const answerTimeoutMs = 60_000
/** The kernel rejects a connection to a port without a listener, which costs the container nothing. */
const askEveryMs = 2
const agentPort = 8400

export interface TimedStart {
  readonly container: Dockerode.Container
  readonly group: ContainerGroup
  /**
   * Time from the request to create the container until the first 200 on `/status`. For an agent it includes
   * setting its resource limits, since it gets work only after that.
   */
  readonly readyMs: number
  readonly createMs: number
  readonly startMs: number
  /** Time from the engine's confirmation that the container runs until the first 200. */
  readonly answerMs: number
  /** Remaining time, after the first answer, until the engine has limited the container's CPU share. */
  readonly holdMs: number
  /** CPU time of the whole container until the first 200, including that of the engine's runtime inside it. */
  readonly cpuMs: number
}

/** Creates and starts a container and requests its `/status`, both as the mesh does. */
export async function timedStart(
  ground: BenchGround,
  asked: {
    readonly variant: Variant
    readonly kind: AgentKind
    readonly agentId: string
    readonly signal: AbortSignal
  },
): Promise<TimedStart> {
  const { variant, kind, agentId } = asked
  const options = variant.options(agentId, kind)
  const startedAt = performance.now()
  const headers = { authorization: `Bearer ${await variant.lay()}` }
  const container = await ground.engine.docker.createContainer(options)
  const createdAt = performance.now()
  try {
    await container.start()
    const runningAt = performance.now()
    const state = await container.inspect()
    const host = state.NetworkSettings.Networks[ground.network.name]?.IPAddress ?? ''
    let held: Promise<void> | undefined
    const hold = () => (held ??= holdToShare(ground.engine, container.id, sandboxSizes[kind].cpu))
    const onTaken = variant.name === 'agent' ? () => void hold() : () => {}
    await firstAnswer(container, { host, headers, signal: asked.signal, onTaken })
    const answeredAt = performance.now()
    const group = containerGroup(state.State.Pid)
    const cpuMs = group.cpuMs()
    await hold()
    const heldAt = performance.now()
    return {
      container,
      group,
      cpuMs,
      readyMs: (variant.name === 'agent' ? heldAt : answeredAt) - startedAt,
      createMs: createdAt - startedAt,
      startMs: runningAt - createdAt,
      answerMs: answeredAt - runningAt,
      holdMs: heldAt - answeredAt,
    }
  } catch (error) {
    await removeContainer(ground, agentId)
    throw error
  }
}

/** Removes the container and its volume. */
export async function removeContainer(ground: BenchGround, agentId: string): Promise<void> {
  const { docker } = ground.engine
  await docker.getContainer(sandboxName(ground.homeId, agentId)).remove({ force: true })
  await docker.getVolume(volumeName(ground.homeId, agentId)).remove()
}

interface Question {
  readonly host: string
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  /** Called when the port accepts connections: from then on the mesh limits the agent's CPU share. */
  readonly onTaken: () => void
}

async function firstAnswer(container: Dockerode.Container, question: Question): Promise<void> {
  const end = performance.now() + answerTimeoutMs
  let last = 'nobody listened'
  while (performance.now() < end) {
    question.signal.throwIfAborted()
    const status = await askStatus(question)
    if (status === 200) return
    if (typeof status === 'number') last = `HTTP ${status}`
    else await delay(askEveryMs)
    if (typeof status === 'number') await delay(askEveryMs * 25)
  }
  const logs = await container.logs({ stdout: true, stderr: true, tail: 20 })
  throw new Error(`no 200 on /status within ${answerTimeoutMs / 1000} s: ${last}\n${logs.toString('utf8')}`)
}

/** The status; null if no process listens. */
function askStatus({ host, headers, onTaken }: Question): Promise<number | null> {
  return new Promise((resolve) => {
    const asked = request({ host, port: agentPort, path: '/status', headers, agent: false }, (reply) => {
      reply.resume()
      reply.once('end', () => resolve(reply.statusCode ?? null))
      reply.once('error', () => resolve(null))
    })
    asked.once('socket', (socket) => socket.once('connect', onTaken))
    asked.setTimeout(answerTimeoutMs, () => asked.destroy())
    asked.once('error', () => resolve(null))
    asked.end()
  })
}
