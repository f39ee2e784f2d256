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
 * What an engine holds for a home that does not exist here: it was deleted without `reset`, or belongs to
 * another user.
 */
export interface LostHome {
  /** Part of the labels and names of everything that the home left. */
  readonly tag: string
  /** Path of the home; null if it is unknown, such as another user's home. */
  readonly place: string | null
  readonly networks: number
  readonly containers: number
  /** The number of running containers among them. */
  readonly running: number
  readonly volumes: number
  /** Deletes everything that the home left, including the firewall rules of its networks. */
  erase(): Promise<void>
}

export interface LostHomesQuery {
  readonly hints: SocketHints
  /** Id of the home that runs this query; null for a home that was never started. */
  readonly homeId: string | null
  readonly cacheDirectory: string
}

const labelled = z.looseObject({
  State: z.string().nullish(),
  Labels: z.record(z.string(), z.string()).nullish(),
})
const volumesSchema = z.looseObject({ Volumes: z.array(labelled).nullish() })

/** Finds what missing homes left in the engine. Null if no engine answers. */
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
