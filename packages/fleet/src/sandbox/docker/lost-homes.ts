import * as z from 'zod'
import type { Engine } from '../engine/connect-engine.ts'
import { findEngine } from '../engine/find-engine.ts'
import type { SocketHints } from '../engine/socket-candidates.ts'
import { knownHomes } from '../image/image-uses.ts'
import type { KnownHome } from '../image/image-uses.ts'
import { homeTag } from '../sandbox-spec.ts'
import { labelKeys } from '../hardening/container-options.ts'
import { eraseHome } from './erase-home.ts'

/**
 * The resources in an engine of a home that this user does not have: the home was deleted without `reset`, or belongs
 * to another user.
 */
export interface LostHome {
  /** The home's tag, which is part of the labels and names of all its resources in the engine. */
  readonly tag: string
  /** Path of the home; null if the path is unknown, as for another user's home. */
  readonly place: string | null
  readonly networks: number
  readonly containers: number
  /** How many of `containers` are running. */
  readonly running: number
  readonly volumes: number
  /** Deletes all resources of the home in the engine, including the firewall rules of its networks. */
  erase(): Promise<void>
}

export interface LostHomesQuery {
  readonly hints: SocketHints
  /** Id of the home for which `doctor` or `prune` runs; null for a home that was never started. */
  readonly homeId: string | null
  readonly cacheDirectory: string
}

const labelled = z.looseObject({
  State: z.string().nullish(),
  Labels: z.record(z.string(), z.string()).nullish(),
})
const volumesSchema = z.looseObject({ Volumes: z.array(labelled).nullish() })

/** Finds the resources in the engine that belong to missing homes. Null if no engine answers. */
export async function lostHomes(query: LostHomesQuery): Promise<readonly LostHome[] | null> {
  const { engine } = await findEngine(query.hints)
  if (engine === null) return null
  const known = await knownHomes(query.cacheDirectory)
  const own = query.homeId === null ? null : homeTag(query.homeId)
  const found: LostHome[] = []
  for (const [tag, counts] of await countByHome(engine)) {
    const homes = known.filter(({ id }) => homeTag(id) === tag)
    if (tag === own || homes.some(({ isThere }) => isThere)) continue
    const erase = () => eraseHome(engine, { homeTag: tag, uid: query.hints.uid })
    found.push({ tag, place: placeOf(homes), ...counts, erase })
  }
  return found.toSorted((one, other) => one.tag.localeCompare(other.tag))
}

function placeOf(homes: readonly KnownHome[]): string | null {
  return homes[0]?.folder ?? null
}

type Counts = { networks: number; containers: number; running: number; volumes: number }

async function countByHome({ docker }: Engine): Promise<ReadonlyMap<string, Counts>> {
  const filters = { label: [labelKeys.home] }
  const [networks, containers, volumes] = await Promise.all([
    docker.listNetworks({ filters }),
    docker.listContainers({ all: true, filters }),
    docker.listVolumes({ filters }),
  ])
  const counts = new Map<string, Counts>()
  const count = (
    things: readonly z.output<typeof labelled>[],
    kind: 'networks' | 'containers' | 'volumes',
  ) => {
    for (const { State, Labels } of things) {
      const tag = Labels?.[labelKeys.home]
      if (tag === undefined || !tagPattern.test(tag)) continue
      const of = counts.get(tag) ?? { networks: 0, containers: 0, running: 0, volumes: 0 }
      of[kind] += 1
      if (State === 'running') of.running += 1
      counts.set(tag, of)
    }
  }
  count(z.array(labelled).parse(networks), 'networks')
  count(z.array(labelled).parse(containers), 'containers')
  count(volumesSchema.parse(volumes).Volumes ?? [], 'volumes')
  return counts
}

/** The tag format that the mesh creates; any other name does not belong to the mesh. */
const tagPattern = /^[0-9a-f]{8}$/
