import { Problem } from '@flotilla/protocol/problem'
import type { Action, Caller, Guard } from '../../access/index.ts'
import type { ArtifactFiles } from './artifact-files.ts'
import type { ArtifactRow, ArtifactTable } from './artifact-table.ts'

/** Rows of one list. */
const listedMax = 500

export type ListArtifacts = (caller: Caller) => readonly ArtifactRow[]
/** Of one agent; `more` is how many are not in the list. */
export type ListArtifactsOf = (
  caller: Caller,
  agentId: string,
) => { readonly rows: readonly ArtifactRow[]; readonly more: number }
export type ReadArtifact = (
  caller: Caller,
  agentId: string,
  name: string,
) => Promise<{ readonly row: ArtifactRow; readonly content: Buffer }>

/** Newest first, of all agents, for whoever may view the fleet. */
export function listArtifacts(deps: { readonly guard: Guard; readonly table: ArtifactTable }): ListArtifacts {
  return (caller) => {
    deps.guard(caller, { do: 'view-fleet' })
    return deps.table.list(listedMax)
  }
}

/** Newest first: an agent's own for itself, anybody's for whoever may view the fleet. Problem `denied`. */
export function listArtifactsOf(deps: {
  readonly guard: Guard
  readonly table: ArtifactTable
}): ListArtifactsOf {
  return (caller, agentId) => {
    deps.guard(caller, actionFor(caller, agentId))
    const rows = deps.table.listOf(agentId, listedMax)
    return { rows, more: Math.max(0, deps.table.usageBeside(agentId, '').count - rows.length) }
  }
}

/**
 * The bytes of one artifact, for its own agent and for whoever may view the fleet. Only names that were saved are ever made into a path, so none leads elsewhere.
 * Problems `denied`, `not-found`.
 */
export function readArtifact(deps: {
  readonly guard: Guard
  readonly table: ArtifactTable
  readonly files: ArtifactFiles
}): ReadArtifact {
  return async (caller, agentId, name) => {
    deps.guard(caller, actionFor(caller, agentId))
    const row = deps.table.find(agentId, name)
    const content = row ? await deps.files.read(row.agentId, row.name) : null
    if (!row || !content) throw new Problem('not-found', { detail: 'there is no such artifact' })
    return { row, content }
  }
}

function actionFor(caller: Caller, agentId: string): Action {
  return caller.kind === 'agent' && caller.agentId === agentId
    ? { do: 'act-for-self', agentId }
    : { do: 'view-fleet' }
}
