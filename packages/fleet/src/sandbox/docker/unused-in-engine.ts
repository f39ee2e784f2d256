import * as z from 'zod'
import type { Engine } from '../engine/connect-engine.ts'
import { findEngine } from '../engine/find-engine.ts'
import type { SocketHints } from '../engine/socket-candidates.ts'
import { isStatus } from '../image/engine-images.ts'
import { forgetImages, unusedImages } from '../image/prune-images.ts'
import { homeTag } from '../sandbox-spec.ts'
import { labelKeys } from '../hardening/container-options.ts'
import { throwAwayRoles } from './list-containers.ts'

/** Every throw-away container of the mesh ends within this time, also on a slow machine, milliseconds. */
const throwAwayMaxMs = 3_600_000
/** HTTP statuses of the engine for a missing object and for an object in use. */
const notFoundStatus = 404
const inUseStatus = 409
/** Roles of an agent's containers and volumes, as their labels in the engine say. */
const containersOfAgents: readonly string[] = ['agent', 'browser']
const volumesOfAgents: readonly string[] = ['data', 'browser-profile']

/** An unused object in the engine: a container or volume of this home, or an image of any home. */
export interface UnusedInEngine {
  readonly kind: 'container' | 'volume' | 'image'
  readonly name: string
  readonly why: string
  readonly bytes: number | null
  /** Removes the object. Returns false if the object is in use. */
  remove(): Promise<boolean>
}

export interface EngineQuery {
  readonly hints: SocketHints
  /** Id of the home; null for a home that was never started and so has nothing in the engine. */
  readonly homeId: string | null
  /** Returns whether the home has an agent with this id, running or not. */
  readonly isAgent: (agentId: string) => boolean
  readonly cacheDirectory: string
  readonly now: number
}

const containersSchema = z.array(
  z.looseObject({
    Id: z.string(),
    State: z.string(),
    Created: z.number(),
    SizeRw: z.number().nullish(),
    Labels: z.record(z.string(), z.string()).nullish(),
  }),
)
const volumesSchema = z.looseObject({
  Volumes: z
    .array(z.looseObject({ Name: z.string(), Labels: z.record(z.string(), z.string()).nullish() }))
    .nullish(),
})
const sizesSchema = z.looseObject({
  Volumes: z
    .array(
      z.looseObject({ Name: z.string(), UsageData: z.looseObject({ Size: z.number().nullish() }).nullish() }),
    )
    .nullish(),
  Images: z
    .array(z.looseObject({ Id: z.string(), Size: z.number().nullish(), SharedSize: z.number().nullish() }))
    .nullish(),
})

/** Finds unused objects. Null if no engine answers, because then nothing in the engine can be deleted. */
export async function unusedInEngine(query: EngineQuery): Promise<readonly UnusedInEngine[] | null> {
  const { engine } = await findEngine(query.hints)
  if (engine === null) return null
  const [ofHome, images] = await Promise.all([
    query.homeId === null ? [] : ofOneHome(engine, { ...query, homeId: query.homeId }),
    unusedImages(engine, query.cacheDirectory, query.now),
  ])
  if (ofHome.length + images.length === 0) return []
  const sizes = await sizesIn(engine)
  return [
    ...ofHome.map((thing) => ({ ...thing, bytes: thing.bytes ?? sizes.get(thing.name) ?? null })),
    ...images.map(({ reference, id }): UnusedInEngine => ({
      kind: 'image',
      name: reference,
      why: 'it belongs to an earlier release, and no home on this machine uses it',
      bytes: sizes.get(id) ?? null,
      remove: async () =>
        (await forgetImages(engine, query.cacheDirectory, [{ reference, id }])).includes(id),
    })),
  ]
}

async function ofOneHome(
  { docker }: Engine,
  { homeId, isAgent, now }: EngineQuery & { readonly homeId: string },
): Promise<readonly UnusedInEngine[]> {
  const label = [`${labelKeys.home}=${homeTag(homeId)}`]
  const containers = containersSchema.parse(
    await docker.listContainers({ all: true, size: true, filters: { label } }),
  )
  const { Volumes } = volumesSchema.parse(await docker.listVolumes({ filters: { label } }))
  const found: UnusedInEngine[] = []
  for (const { Id, State, Created, SizeRw, Labels } of containers) {
    const [role, agentId] = [Labels?.[labelKeys.role] ?? '', Labels?.[labelKeys.agent]]
    const isOld = now - Created * 1000 > throwAwayMaxMs
    const isLeft = throwAwayRoles.includes(role) && isOld
    // The mesh itself ends running containers without an agent, so they are not listed.
    const isOrphan =
      containersOfAgents.includes(role) && agentId !== undefined && State !== 'running' && !isAgent(agentId)
    if (!isLeft && !isOrphan) continue
    found.push({
      kind: 'container',
      name: Id.slice(0, 12),
      why: isOrphan ? `its agent ${agentId} was deleted` : `it was left by a ${role} that was interrupted`,
      bytes: SizeRw ?? 0,
      remove: () =>
        isOrphan && isAgent(agentId)
          ? Promise.resolve(false)
          : removed(docker.getContainer(Id).remove({ force: isLeft, v: false })),
    })
  }
  for (const { Name, Labels } of Volumes ?? []) {
    const agentId = Labels?.[labelKeys.agent]
    const isOfAgent = volumesOfAgents.includes(Labels?.[labelKeys.role] ?? '')
    if (!isOfAgent || agentId === undefined || isAgent(agentId)) continue
    found.push({
      kind: 'volume',
      name: Name,
      why: `its agent ${agentId} was deleted`,
      bytes: null,
      // The engine refuses to remove a volume that a container uses, even a stopped container.
      remove: () => (isAgent(agentId) ? Promise.resolve(false) : removed(docker.getVolume(Name).remove())),
    })
  }
  return found
}

/**
 * Maps each volume name to its bytes, and each image id to the bytes that no other image shares. Empty if the engine
 * cannot count.
 */
async function sizesIn({ docker }: Engine): Promise<ReadonlyMap<string, number>> {
  const sizes = new Map<string, number>()
  const answer = sizesSchema.safeParse(await docker.df().catch(() => null))
  if (!answer.success) return sizes
  for (const { Name, UsageData } of answer.data.Volumes ?? []) {
    if ((UsageData?.Size ?? -1) >= 0) sizes.set(Name, UsageData?.Size ?? 0)
  }
  for (const { Id, Size, SharedSize } of answer.data.Images ?? []) {
    if ((Size ?? -1) >= 0) sizes.set(Id, (Size ?? 0) - Math.max(0, SharedSize ?? 0))
  }
  return sizes
}

async function removed(removing: Promise<unknown>): Promise<boolean> {
  try {
    await removing
    return true
  } catch (error) {
    if (isStatus(error, notFoundStatus)) return true
    if (isStatus(error, inUseStatus)) return false
    throw error
  }
}
