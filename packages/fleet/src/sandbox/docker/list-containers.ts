import type { Engine } from '../engine/connect-engine.ts'
import { sandboxName } from '../sandbox-spec.ts'
import { labelKeys } from '../hardening/container-options.ts'
import { packagesRole } from '../packages/build-container.ts'
import { listSchema } from './container-state.ts'

/** Lists the containers of a home's agents, including ended ones. */
export async function listContainers(engine: Engine, homeTag: string) {
  const label = [`${labelKeys.home}=${homeTag}`, `${labelKeys.role}=agent`]
  return listSchema.parse(await engine.docker.listContainers({ all: true, filters: { label } }))
}

/** Renames containers of an earlier release, whose names contain the agent's id, to the current scheme. */
export async function renameContainers(engine: Engine, homeId: string, homeTag: string): Promise<void> {
  for (const { Id, Names, Labels } of await listContainers(engine, homeTag)) {
    const agentId = Labels?.[labelKeys.agent]
    const name = agentId === undefined ? undefined : sandboxName(homeId, agentId)
    if (name === undefined || Names?.some((known) => known.replace(/^\//, '') === name)) continue
    await engine.docker.getContainer(Id).rename({ name })
  }
}

/** Roles of throw-away containers, each of which produces one result and is then removed. */
export const throwAwayRoles: readonly string[] = [
  'probe',
  'warm-up',
  'firewall',
  'trial',
  'meter',
  'backup',
  packagesRole,
]

/** Returns the ids of throw-away containers that an earlier mesh process left when it was killed. */
export async function leftovers(engine: Engine, homeTag: string): Promise<readonly string[]> {
  const label = [`${labelKeys.home}=${homeTag}`]
  const containers = listSchema.parse(await engine.docker.listContainers({ all: true, filters: { label } }))
  return containers.flatMap(({ Id, Labels }) =>
    throwAwayRoles.includes(Labels?.[labelKeys.role] ?? '') ? [Id] : [],
  )
}
