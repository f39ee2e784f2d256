import { Problem } from '@flotilla/protocol/problem'
import type { Guard } from '../policy/action.ts'
import type { Caller } from '../policy/caller.ts'
import type { ArtifactFiles } from './artifact-files.ts'
import type { ArtifactRow, ArtifactTable } from './artifact-table.ts'

/** Rows of one list. */
const listedMax = 500

export type ListArtifacts = (caller: Caller) => readonly ArtifactRow[]
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

/**
 * The bytes of one artifact. Only names that were saved are ever made into a path, so none leads elsewhere.
 * Problems `denied`, `not-found`.
 */
export function readArtifact(deps: {
  readonly guard: Guard
  readonly table: ArtifactTable
  readonly files: ArtifactFiles
}): ReadArtifact {
  return async (caller, agentId, name) => {
    deps.guard(caller, { do: 'view-fleet' })
    const row = deps.table.find(agentId, name)
    const content = row ? await deps.files.read(row.agentId, row.name) : null
    if (!row || !content) throw new Problem('not-found', { detail: 'there is no such artifact' })
    return { row, content }
  }
}
