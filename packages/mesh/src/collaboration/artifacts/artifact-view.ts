import type { ArtifactRow } from './artifact-table.ts'

/** An artifact without its bytes, in the words of the wire. Pure. */
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
