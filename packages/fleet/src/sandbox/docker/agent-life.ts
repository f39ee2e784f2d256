import type { SandboxState } from '../sandbox-runtime.ts'
import { sandboxName } from '../sandbox-spec.ts'
import type { SandboxSpec } from '../sandbox-spec.ts'
import {
  endMachine,
  inspectContainer,
  inspectedOf,
  removeContainer,
  startContainer,
  stopContainer,
} from './agent-container.ts'
import { labelKeys, volumeName } from '../hardening/container-options.ts'
import { runningState } from './container-state.ts'
import { engineWithImage, expectEnd, preparedEngine } from './docker-home.ts'
import type { DockerHome } from './docker-home.ts'
import { listContainers } from './list-containers.ts'
import { restoreShare } from './own-share.ts'
import { unlessStatus } from './unless-status.ts'

/** Starts one container and replaces any with the agent's name; starts of the same agent run one after another. */
export async function startAgent(home: DockerHome, spec: SandboxSpec): Promise<SandboxState> {
  const { shares } = home.starts
  const { agentId, cpu } = spec
  const isMachine = spec.isolation === 'microvm'
  // The share is acquired before the start gate: a machine that waits for it inside would block other starts.
  const turn =
    isMachine && preparedEngine(home).dialect.changesShares ? await shares.lendInTurn(agentId, cpu) : null
  const started = home.starts.gate(async () => {
    expectEnd(home, agentId)
    return startContainer(await engineWithImage(home), spec, {
      lend: () => (isMachine ? turn : shares.lend(agentId, cpu)),
      release: () => shares.release(agentId),
      onCreated: (id) => home.ends.running.set(id, agentId),
      onFailed: (id) => home.ends.running.delete(id),
    })
  })
  // A failed start returns its borrowed processor share, too.
  started.catch(() => shares.release(agentId))
  return started
}

export async function endStartShare(home: DockerHome, agentId: string): Promise<void> {
  const share = home.starts.shares.of(agentId)
  if (share !== null) return share.end()
  const { engine } = preparedEngine(home)
  const inspected = await inspectedOf(engine, nameOf(home, agentId))
  if (inspected?.State.Running) await restoreShare(engine, inspected)
}

export async function stopAgent(home: DockerHome, agentId: string, graceMs: number): Promise<void> {
  expectEnd(home, agentId)
  await stopContainer(preparedEngine(home).engine, nameOf(home, agentId), graceMs)
  // The share is released only now, because a container keeps its borrowed share until it is gone.
  home.starts.shares.release(agentId)
}

export async function removeAgent(
  home: DockerHome,
  agentId: string,
  { data }: { readonly data: boolean },
): Promise<void> {
  expectEnd(home, agentId)
  const { engine } = preparedEngine(home)
  const name = nameOf(home, agentId)
  if (!data) await endMachine(engine, name)
  await removeContainer(engine, name)
  home.starts.shares.release(agentId)
  if (!data) return
  await engine.docker
    .getVolume(volumeName(home.options.homeId, agentId))
    .remove()
    .catch(unlessStatus([404]))
  await home.volumes.remove(agentId)
}

export async function listAgents(home: DockerHome): Promise<readonly SandboxState[]> {
  const to = preparedEngine(home)
  const states = await Promise.all(
    (await listContainers(to.engine, home.tag)).map(async (container) => {
      const agentId = container.Labels?.[labelKeys.agent]
      if (agentId === undefined) return null
      if (container.State !== 'running') return inspectContainer(to, container.Id)
      const host = container.NetworkSettings?.Networks?.[to.network.name]?.IPAddress
      return host
        ? runningState({ agentId, labels: container.Labels ?? {}, host })
        : inspectContainer(to, container.Id)
    }),
  )
  return states.filter((state) => state !== null)
}

export function nameOf({ options }: Pick<DockerHome, 'options'>, agentId: string): string {
  return sandboxName(options.homeId, agentId)
}
