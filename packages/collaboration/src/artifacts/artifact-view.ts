import type { ArtifactRow } from './artifact-table.ts'

/** Returns the wire format of an artifact, without its bytes. Pure. */
export function artifactView(row: ArtifactRow) {
  return {
    agent_id: row.agentId,
    name: row.name,
    description: row.description,
    size_bytes: row.sizeBytes,
    sha256: row.sha256,
    saved_at: row.savedAt,
    project: row.project,
  }
}
