import { Readable } from 'node:stream'
import type { Clock } from '@flotilla/protocol/clock'
import * as z from 'zod'
import type { Engine } from '../engine/connect-engine.ts'
import { readWhileHeld } from '../hold-while-reading.ts'
import { holdMachine, readMachineDisk, releaseMachine } from '../machine/read-machine.ts'
import { dataThere } from '../process/process-data.ts'
import type { DataReading } from '../sandbox-runtime.ts'
import { sandboxName } from '../sandbox-spec.ts'
import { inspectedOf, removeContainer, type PreparedEngine } from './agent-container.ts'
import { openAgentVolume } from './agent-volume.ts'
import { labelKeys, volumeLabels, volumeName } from './container-options.ts'
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
 * Reads the data from the agent's running container, which the engine pauses meanwhile, or from a new container that
 * never runs.
 */
export async function readContainerData(to: PreparedEngine, of: DataOfAgent): Promise<DataReading | null> {
  const { docker } = to.engine
  const { clock } = of
  const working = await inspectedOf(to.engine, sandboxName(of.homeId, of.agentId))
  if (to.volumes.isOfMachine(of.agentId)) return readOfMachine(to, of, working)
  if (working?.State.Running) {
    const container = docker.getContainer(sandboxName(of.homeId, of.agentId))
    const isHeld = await container.pause().then(
      () => true,
      () => false,
    )
    const release = () => container.unpause().catch(unlessStatus([304, 404, 409, 500]))
    try {
      const tar = Readable.from(await container.getArchive({ path: '/data/.' }))
      return readWhileHeld({ tar, isHeld, release, close: async () => void tar.destroy(), clock })
    } catch (error) {
      await release()
      throw error
    }
  }
  if (!(await hasVolume(to, of))) return null
  const helper = await makeHelper(to, of)
  try {
    const tar = Readable.from(await docker.getContainer(helper.id).getArchive({ path: '/data/.' }))
    const close = async () => {
      tar.destroy()
      await helper.remove()
    }
    return readWhileHeld({ tar, isHeld: true, release: async () => {}, close, clock })
  } catch (error) {
    await helper.remove()
    throw error
  }
}

/** Reads the disk with a second machine. If the agent's machine is running, it is frozen meanwhile. */
async function readOfMachine(
  to: PreparedEngine,
  of: DataOfAgent,
  working: InspectedContainer | null,
): Promise<DataReading> {
  const { engine, ground, volumes } = to
  const behind = await to.rungs.behind('microvm', to)
  if (behind.rung !== 'microvm') throw new TypeError('a machine is behind a machine')
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

/** Restores an agent's data (S10). The engine unpacks it below the mount of a container that never runs. */
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

/** Resumes containers that a mesh left frozen because it was killed while it read their data. */
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
  // The data of a machine is a file and not a volume of the engine.
  if (volumes.has(agentId)) return true
  const label = [`${labelKeys.home}=${homeTag}`]
  const { Volumes } = volumesSchema.parse(await engine.docker.listVolumes({ filters: { label } }))
  return (Volumes ?? []).some(({ Name }) => Name === volumeName(homeId, agentId))
}

async function makeHelper({ engine, ground, volumes, bound }: PreparedEngine, of: DataOfAgent) {
  const { docker } = engine
  const { homeId, agentId, homeTag } = of
  const name = volumeName(homeId, agentId)
  const volume = await openAgentVolume(engine, volumes, { homeId, spec: of, bound })
  try {
    if (!volume.limited) await docker.createVolume({ Name: name, Labels: volumeLabels(homeId, agentId) })
    const { id } = await docker.createContainer({
      Image: ground.image,
      Cmd: ['true'],
      Labels: { [labelKeys.home]: homeTag, [labelKeys.role]: 'backup' },
      HostConfig: {
        NetworkMode: 'none',
        CapDrop: ['ALL'],
        Mounts: [{ Type: 'volume', Source: name, Target: '/data' }],
      },
    })
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
