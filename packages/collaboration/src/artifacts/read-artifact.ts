import { operatorAgentId } from '@flotilla/protocol/ids'
import { Problem } from '@flotilla/protocol/problem'
import type { Action, Caller, Guard } from '@flotilla/identity/access'
import type { ArtifactFiles } from './artifact-files.ts'
import type { ArtifactRow, ArtifactTable } from './artifact-table.ts'

/** Maximum number of artifacts in one list. */
const listedMax = 500

export type ListArtifacts = (caller: Caller) => readonly ArtifactRow[]
/** Lists the artifacts of one agent; `more` counts those that the list omits. */
export type ListArtifactsOf = (caller: Caller, agentId: string) => ArtifactList
/** Lists the artifacts shared in the caller's project. */
export type ListShared = (caller: Caller) => ArtifactList
export interface ArtifactList {
  readonly rows: readonly ArtifactRow[]
  readonly more: number
}
export type ReadArtifact = (
  caller: Caller,
  agentId: string,
  name: string,
) => Promise<{ readonly row: ArtifactRow; readonly content: Buffer }>

/** The dependencies that decide which caller may read which artifact. */
export interface ArtifactWalls {
  readonly guard: Guard
  readonly table: ArtifactTable
  readonly projectOf: (agentId: string) => string | null
  /** True if the file belongs to a task that the agent gave or was assigned. */
  readonly sharedByTask: (
    agentId: string,
    artifact: { readonly ownerId: string; readonly name: string },
  ) => boolean
}

/** Lists the artifacts of all agents, newest first, for callers that may view the fleet. */
export function listArtifacts({ guard, table, projectOf }: ArtifactWalls): ListArtifacts {
  return (caller) => {
    guard(caller, { do: 'view-fleet' })
    return table.list(listedMax).filter(({ agentId }) => !isWalledOff(projectOf, caller, agentId))
  }
}

/**
 * Lists the artifacts of one agent, newest first, for itself and for callers that may view the fleet. Problem
 * `denied`.
 */
export function listArtifactsOf(walls: ArtifactWalls): ListArtifactsOf {
  const { guard, table } = walls
  return (caller, agentId) => {
    guard(caller, actionFor(caller, agentId))
    refuseWalledOff(walls, caller, agentId)
    const rows = table.listOf(agentId, listedMax)
    return { rows, more: Math.max(0, table.usageBeside(agentId, '').count - rows.length) }
  }
}

/** Lists what members of the caller's project share, newest first. Problem `unprocessable` without a project. */
export function listShared({ guard, table, projectOf }: ArtifactWalls): ListShared {
  return (caller) => {
    const agentId = caller.kind === 'agent' ? caller.agentId : ''
    guard(caller, { do: 'act-for-self', agentId })
    const project = projectOf(agentId)
    if (project === null)
      throw new Problem('unprocessable', {
        detail: 'the calling agent belongs to no project, so it has no shared artifacts',
      })
    const rows = table.listShared(project, listedMax + 1)
    return { rows: rows.slice(0, listedMax), more: Math.max(0, rows.length - listedMax) }
  }
}

/**
 * Returns the bytes of one artifact. Allowed are its own agent, members of the project in which it is shared, giver
 * and assignee of a task that it is attached to, and callers that may view the fleet, except across projects. Only
 * saved names are turned into a path, so no name leads outside the folder. Problems `denied`, `not-found`.
 */
export function readArtifact(deps: ArtifactWalls & { readonly files: ArtifactFiles }): ReadArtifact {
  const { guard, table, projectOf } = deps
  return async (caller, agentId, name) => {
    const found = table.find(agentId, name)
    if (!isShared(deps, caller, { ownerId: agentId, name, project: found?.project ?? null })) {
      guard(caller, actionFor(caller, agentId))
      refuseWalledOff({ projectOf }, caller, agentId)
    } else if (caller.kind === 'agent') {
      guard(caller, { do: 'act-for-self', agentId: caller.agentId })
    }
    const content = found ? await deps.files.read(found.agentId, found.name) : null
    if (!found || !content) throw missing()
    return { row: found, content }
  }
}

function isShared(
  { projectOf, sharedByTask }: ArtifactWalls,
  caller: Caller,
  artifact: { readonly ownerId: string; readonly name: string; readonly project: string | null },
): boolean {
  if (caller.kind !== 'agent') return false
  if (artifact.project !== null && projectOf(caller.agentId) === artifact.project) return true
  return sharedByTask(caller.agentId, artifact)
}

/** True if the project of the artifact's owner hides it from the caller; of all agents only the operator sees all. */
function isWalledOff(projectOf: ArtifactWalls['projectOf'], caller: Caller, ownerId: string): boolean {
  if (caller.kind !== 'agent' || caller.agentId === operatorAgentId || caller.agentId === ownerId)
    return false
  const owners = projectOf(ownerId)
  return owners !== null && owners !== projectOf(caller.agentId)
}

function refuseWalledOff(
  { projectOf }: Pick<ArtifactWalls, 'projectOf'>,
  caller: Caller,
  ownerId: string,
): void {
  if (isWalledOff(projectOf, caller, ownerId)) throw missing()
}

function missing(): Problem {
  return new Problem('not-found', {
    detail: 'the agent has no artifact with this name, or you may not read it',
  })
}

function actionFor(caller: Caller, agentId: string): Action {
  return caller.kind === 'agent' && caller.agentId === agentId
    ? { do: 'act-for-self', agentId }
    : { do: 'view-fleet' }
}
