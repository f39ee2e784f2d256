import type { Clock } from '@flotilla/protocol/clock'
import { guardedNode, hardenedHost, labelKeys, type ContainerGround } from '../hardening/container-options.ts'
import type { Behind } from './behind.ts'
import type { Engine } from '../engine/connect-engine.ts'
import { runOnce } from '../engine/run-once.ts'
import { SandboxError, reasonOf } from '../sandbox-error.ts'
import type { WallReport } from '../wall-report.ts'
import { sandboxSizes } from '../default-agent-sizes.ts'
import { sandboxHardening } from '../sandbox-spec.ts'
import { hostAddresses, openCanary, reaches } from '../hardening/canary.ts'
import {
  containerWalls,
  networkWalls,
  outsideTargets,
  probeReportSchema,
  type ProbeGroup,
  type ProbeTarget,
} from '../hardening/isolation-report.ts'

/** The time limit of the container that carries out an isolation check, in milliseconds. */
const probeTimeoutMs = 60_000
/** Time limit of a probe in a virtual machine, including the kernel's boot, emulated on a busy host. Milliseconds. */
const machineProbeTimeoutMs = 240_000
/** A target that does not answer within this time counts as unreachable, milliseconds. */
const probeAttemptMs = 1_000
/** How long a probe in a virtual machine waits for one target, in milliseconds. */
const machineAttemptMs = 8_000
/** How long an isolation check waits until the second container listens, in milliseconds. */
const siblingReadyMs = 5_000
/** The pause between two checks whether the second container of an isolation check listens, in milliseconds. */
const siblingAskMs = 30
const siblingPort = 8400

interface IsolationOptions {
  /** The settings of the tested network. */
  readonly ground: ContainerGround
  readonly homeTag: string
  /** The agent API's port on the network's gateway: the only target that the sandbox must be able to reach. */
  readonly meshPort: number
  /** Set only to test the network of browsers: the agents' network, and the ports on which the mesh serves agents. */
  readonly agents?: { readonly ground: ContainerGround; readonly meshPorts: readonly number[] }
  readonly clock: Clock
  /** The isolation level at which the walls are tested. */
  readonly behind: Behind
  readonly signal?: AbortSignal | undefined
}

/**
 * Tests the walls from a throw-away container with an agent's hardening. Targets on the host and in other containers
 * must first be reachable from the host; otherwise a failure of the probe would prove nothing. With `agents`, the
 * probe runs on the browsers' network and reports only on that network, because browser containers are inspected
 * separately.
 */
export async function checkIsolation(
  engine: Engine,
  options: IsolationOptions,
): Promise<readonly WallReport[]> {
  const { ground, agents } = options
  const canary = await openCanary()
  const siblings: Sibling[] = []
  try {
    siblings.push(await startSibling(engine, 'sibling', options))
    if (agents) siblings.push(await startSibling(engine, 'agents', { ...options, ground: agents.ground }))
    const { gateway } = ground.network
    const hosts = [...new Set([...(await hostAddresses()), gateway])]
    const controlled: readonly ProbeTarget[] = [
      ...hosts.map((host): ProbeTarget => ({ group: 'host', host, port: canary.port })),
      ...siblings.map(({ group, host }): ProbeTarget => ({ group, host, port: siblingPort })),
      ...(agents?.meshPorts ?? []).map((port): ProbeTarget => ({
        group: 'agents',
        host: agents?.ground.network.gateway ?? '',
        port,
      })),
    ]
    const shown = await Promise.all(controlled.map((target) => reaches(target.host, target.port)))
    const reachedFromHost = controlled
      .filter((_, index) => shown[index])
      .map((target) => `${target.host}:${target.port}`)
    const connect: readonly ProbeTarget[] = [
      { group: 'mesh', host: gateway, port: options.meshPort },
      ...controlled,
      ...outsideTargets,
    ]
    const isMachine = options.behind.rung === 'microvm'
    const attemptMs = isMachine ? machineAttemptMs : probeAttemptMs
    const plan = JSON.stringify({ connect, names: ['example.com'], attemptMs })
    const done = await runOnce(engine, {
      ...(await probeOn(options, [...guardedNode, '/opt/flotilla/probe-walls.cjs', plan])),
      labels: labels(options.homeTag),
      user: `${sandboxHardening.uid}:${sandboxHardening.uid}`,
      timeoutMs: isMachine ? machineProbeTimeoutMs : probeTimeoutMs,
      signal: options.signal,
    })
    if (done.code !== 0)
      throw new SandboxError(
        'wall-probe-failed',
        `The isolation check failed to run: ${done.output.slice(-600)}\nRepair: run \`flotilla doctor\`.`,
      )
    const report = probeReportSchema.parse(JSON.parse(done.stdout))
    return agents
      ? networkWalls(report, { reachedFromHost }, 'browsers')
      : [
          ...networkWalls(report, { reachedFromHost, isRefusedBetween: isMachine }, 'agents'),
          ...containerWalls(report, options.behind.rung === 'gvisor' ? 'gvisor' : 'shared'),
        ]
  } finally {
    await Promise.allSettled([canary.close(), ...siblings.map(({ remove }) => remove())])
  }
}

async function probeOn({ ground, behind }: IsolationOptions, command: readonly string[]) {
  if (behind.rung === 'microvm') {
    const { probeMachine } = await import('../machine/index.ts')
    return probeMachine({ ground, machine: behind.machine }, command)
  }
  const gvisor = behind.rung === 'gvisor' ? behind.gvisor : null
  return { image: ground.image, command, host: hardenedHost(ground, probeSize, gvisor) }
}

/** The limits of a worker, but a whole processor: the walls do not depend on it, and the owner waits. */
export const probeSize = {
  memoryLimitBytes: sandboxSizes.worker.memoryLimitBytes,
  cpu: { quotaUs: 100_000, periodUs: 100_000 },
  pidsLimit: sandboxHardening.pidsLimit,
  tmpSizeBytes: sandboxHardening.tmpSizeBytes,
}

function labels(homeTag: string): Record<string, string> {
  return { [labelKeys.home]: homeTag, [labelKeys.role]: 'probe' }
}

/** Podman is packaged without the program that is the first process of containers; its error does not name the package. */
function missingInit(error: unknown): SandboxError | null {
  if (!/container-init binary not found/i.test(reasonOf(error))) return null
  return new SandboxError(
    'engine-refused',
    'The engine lacks the program that is the first process of containers.\nRepair: install it, with `apt-get install catatonit` for Podman on Debian.',
    { cause: error },
  )
}

interface Sibling {
  readonly group: ProbeGroup
  readonly host: string
  readonly remove: () => Promise<void>
}

async function startSibling(
  engine: Engine,
  group: ProbeGroup,
  options: Pick<IsolationOptions, 'ground' | 'homeTag' | 'clock' | 'signal'>,
): Promise<Sibling> {
  const making = engine.docker.createContainer({
    Image: options.ground.image,
    Cmd: [
      ...guardedNode,
      '-e',
      `require('node:net').createServer((s) => s.end()).listen(${siblingPort}, '0.0.0.0')`,
    ],
    User: `${sandboxHardening.uid}:${sandboxHardening.uid}`,
    Labels: labels(options.homeTag),
    HostConfig: hardenedHost(options.ground, probeSize),
  })
  const container = await making.catch((error: unknown) => {
    throw missingInit(error) ?? error
  })
  const remove = async () => {
    await container.remove({ force: true, v: true })
  }
  try {
    await container.start()
    const inspected = await container.inspect()
    const host = inspected.NetworkSettings.Networks[options.ground.network.name]?.IPAddress ?? ''
    const deadline = options.clock.now() + siblingReadyMs
    while (!(await reaches(host, siblingPort)) && options.clock.now() < deadline) {
      await options.clock.sleep(siblingAskMs, options.signal)
    }
    return { group, host, remove }
  } catch (error) {
    await remove().catch(() => undefined)
    throw error
  }
}
