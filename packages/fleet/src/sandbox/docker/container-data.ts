import { dataThere } from '../sandbox-error.ts'
import { Readable } from 'node:stream'
import type { Clock } from '@flotilla/protocol/clock'
import * as z from 'zod'
import type { Engine } from '../engine/connect-engine.ts'
import { readWhileHeld } from '../hold-while-reading.ts'
import type { DataReading } from '../sandbox-runtime.ts'
import { sandboxName } from '../sandbox-spec.ts'
import { inspectedOf, removeContainer, type PreparedEngine } from './agent-container.ts'
import { openAgentVolume } from './agent-volume.ts'
import { labelKeys, volumeLabels, volumeName } from '../hardening/container-options.ts'
import type { InspectedContainer } from './container-state.ts'
import { listContainers } from './list-containers.ts'
import { unlessStatus } from './unless-status.ts'

export interface DataOfAgent {
  readonly agentId: string
  readonly homeId: string
  readonly homeTag: string
  readonly dataLimitBytes: number
  readonly clock: Clock
}

const volumesSchema = z.looseObject({ Volumes: z.array(z.looseObject({ Name: z.string() })).nullish() })

/**
 * Reads the agent's volume through a helper container that never runs; the agent's own container, if it runs, is
 * paused. That container is not read: the engine locks it until the archive ends, and could not unpause it before.
 */
export async function readContainerData(to: PreparedEngine, of: DataOfAgent): Promise<DataReading | null> {
  const { docker } = to.engine
  const { clock } = of
  const working = await inspectedOf(to.engine, sandboxName(of.homeId, of.agentId))
  if (to.volumes.isOfMachine(of.agentId)) return readOfMachine(to, of, working)
  if (working?.State.Running) {
    const container = docker.getContainer(sandboxName(of.homeId, of.agentId))
    // The engine has already mounted the volume for the agent, and gives the helper container the same mount.
    const id = await createHelper(to, of)
    const isHeld = await container.pause().then(
      () => true,
      () => false,
    )
    const release = () => container.unpause().catch(unlessStatus([304, 404, 409, 500]))
    return readHelper({ id, remove: () => removeContainer(to.engine, id) }, { isHeld, release })
  }
  if (!(await hasVolume(to, of))) return null
  return readHelper(await makeHelper(to, of), { isHeld: true, release: async () => {} })

  async function readHelper(
    helper: Helper,
    { isHeld, release }: { readonly isHeld: boolean; readonly release: () => Promise<void> },
  ): Promise<DataReading> {
    try {
      const tar = Readable.from(await docker.getContainer(helper.id).getArchive({ path: '/data/.' }))
      const close = async () => {
        tar.destroy()
        await helper.remove()
      }
      return readWhileHeld({ tar, isHeld, release, close, clock })
    } catch (error) {
      if (isHeld) await release()
      await helper.remove()
      throw error
    }
  }
}

/** Reads an agent's disk in a second virtual machine; the agent's own machine, if it runs, is frozen. */
async function readOfMachine(
  to: PreparedEngine,
  of: DataOfAgent,
  working: InspectedContainer | null,
): Promise<DataReading> {
  const { engine, ground, volumes } = to
  const behind = await to.rungs.behind('microvm', to)
  if (behind.rung !== 'microvm') throw new TypeError('a machine is behind a machine')
  const { holdMachine, readMachineDisk, releaseMachine } = await import('../machine/index.ts')
  const runs = working?.State.Running === true ? working.Id : null
  const isHeld = runs === null || (await holdMachine(engine, runs))
  const path = volumes.pathOf(of.agentId)
  return readWhileHeld({
    tar: readMachineDisk(engine, { ground, machine: behind.machine, path }),
    isHeld,
    release: async () => {
      if (runs !== null) await releaseMachine(engine, runs)
    },
    close: async () => {},
    clock: of.clock,
  })
}

/** Restores an agent's data (S10). The engine unpacks the archive into the volume of a container that never runs. */
export async function writeContainerData(
  to: PreparedEngine,
  of: DataOfAgent,
  tar: AsyncIterable<Uint8Array>,
): Promise<void> {
  if (await hasVolume(to, of)) throw dataThere(volumeName(of.homeId, of.agentId))
  const helper = await makeHelper(to, of)
  try {
    await to.engine.docker.getContainer(helper.id).putArchive(Readable.from(tar), { path: '/data' })
  } finally {
    await helper.remove()
  }
}

/** Resumes containers that stayed frozen because an earlier mesh was killed while it read their data. */
export async function releaseHeld(engine: Engine, homeTag: string): Promise<void> {
  for (const container of await listContainers(engine, homeTag)) {
    if (container.State !== 'paused') continue
    await engine.docker
      .getContainer(container.Id)
      .unpause()
      .catch(unlessStatus([304, 404, 409, 500]))
  }
}

async function hasVolume(
  { engine, volumes }: PreparedEngine,
  { homeId, homeTag, agentId }: DataOfAgent,
): Promise<boolean> {
  // The data of a virtual machine is a file and not a volume of the engine.
  if (volumes.has(agentId)) return true
  const label = [`${labelKeys.home}=${homeTag}`]
  const { Volumes } = volumesSchema.parse(await engine.docker.listVolumes({ filters: { label } }))
  return (Volumes ?? []).some(({ Name }) => Name === volumeName(homeId, agentId))
}

/** A container that mounts an agent's volume and never runs. */
interface Helper {
  readonly id: string
  remove(): Promise<void>
}

async function makeHelper(to: PreparedEngine, of: DataOfAgent): Promise<Helper> {
  const { engine, volumes, bound } = to
  const { homeId, agentId } = of
  const name = volumeName(homeId, agentId)
  const volume = await openAgentVolume(engine, volumes, { homeId, spec: of, bound })
  try {
    if (!volume.limited)
      await engine.docker.createVolume({ Name: name, Labels: volumeLabels(homeId, agentId) })
    const id = await createHelper(to, of)
    return {
      id,
      remove: async () => {
        await removeContainer(engine, id)
        await volume.release()
      },
    }
  } catch (error) {
    await volume.release()
    throw error
  }
}

async function createHelper({ engine, ground }: PreparedEngine, of: DataOfAgent): Promise<string> {
  const { id } = await engine.docker.createContainer({
    Image: ground.image,
    Cmd: ['true'],
    Labels: { [labelKeys.home]: of.homeTag, [labelKeys.role]: 'backup' },
    HostConfig: {
      NetworkMode: 'none',
      CapDrop: ['ALL'],
      Mounts: [{ Type: 'volume', Source: volumeName(of.homeId, of.agentId), Target: '/data' }],
    },
  })
  return id
}
