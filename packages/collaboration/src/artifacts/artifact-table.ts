import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'

export interface ArtifactRow {
  readonly agentId: string
  readonly name: string
  /** Increases by one with each save of this name. */
  readonly version: number
  readonly description: string
  readonly sizeBytes: number
  readonly sha256: string
  readonly savedAt: number
  /** The project whose members may read the artifact; null if it is not shared. */
  readonly project: string | null
}

export interface ArtifactTable {
  find(agentId: string, name: string): ArtifactRow | null
  /** Lists the artifacts of all agents, newest first. */
  list(limit: number): readonly ArtifactRow[]
  /** Returns the artifacts of one agent, newest first. */
  listOf(agentId: string, limit: number): readonly ArtifactRow[]
  /** Returns the artifacts shared in a project, newest first. */
  listShared(project: string, limit: number): readonly ArtifactRow[]
  /** Returns the number and total size of the agent's artifacts other than the artifact of this name. */
  usageBeside(agentId: string, name: string): { readonly count: number; readonly sizeBytes: number }
  put(row: Omit<ArtifactRow, 'version'>): ArtifactRow
  removeAll(agentId: string): void
  /** Deletes the rows of artifacts shared in a project and returns their keys. */
  removeShared(project: string): readonly Pick<ArtifactRow, 'agentId' | 'name'>[]
}

const rowSchema = z
  .object({
    agent_id: z.string(),
    name: z.string(),
    version: z.number(),
    description: z.string(),
    size_bytes: z.number(),
    sha256: z.string(),
    saved_at: z.number(),
    project: z.string().nullable(),
  })
  .transform((row): ArtifactRow => ({
    agentId: row.agent_id,
    name: row.name,
    version: row.version,
    description: row.description,
    sizeBytes: row.size_bytes,
    sha256: row.sha256,
    savedAt: row.saved_at,
    project: row.project,
  }))

export function createArtifactTable(database: Database): ArtifactTable {
  return {
    find: (agentId, name) => {
      const row = database
        .prepare('SELECT * FROM artifacts WHERE agent_id = ? AND name = ?')
        .get(agentId, name)
      return row ? rowSchema.parse(row) : null
    },
    list: (limit) =>
      database
        .prepare('SELECT * FROM artifacts ORDER BY saved_at DESC, agent_id, name LIMIT ?')
        .all(limit)
        .map((row) => rowSchema.parse(row)),
    listOf: (agentId, limit) =>
      database
        .prepare('SELECT * FROM artifacts WHERE agent_id = ? ORDER BY saved_at DESC, name LIMIT ?')
        .all(agentId, limit)
        .map((row) => rowSchema.parse(row)),
    listShared: (project, limit) =>
      database
        .prepare('SELECT * FROM artifacts WHERE project = ? ORDER BY saved_at DESC, agent_id, name LIMIT ?')
        .all(project, limit)
        .map((row) => rowSchema.parse(row)),
    usageBeside: (agentId, name) => {
      const row = database
        .prepare(
          'SELECT count(*) AS count, coalesce(sum(size_bytes), 0) AS size FROM artifacts WHERE agent_id = ? AND name <> ?',
        )
        .get(agentId, name)
      return { count: Number(row?.['count'] ?? 0), sizeBytes: Number(row?.['size'] ?? 0) }
    },
    put: (row) =>
      rowSchema.parse(
        database
          .prepare(
            `INSERT INTO artifacts (agent_id, name, version, description, size_bytes, sha256, saved_at, project)
             VALUES (?, ?, 1, ?, ?, ?, ?, ?)
             ON CONFLICT (agent_id, name) DO UPDATE SET
               version = artifacts.version + 1,
               description = excluded.description,
               size_bytes = excluded.size_bytes,
               sha256 = excluded.sha256,
               saved_at = excluded.saved_at,
               project = excluded.project
             RETURNING *`,
          )
          .get(row.agentId, row.name, row.description, row.sizeBytes, row.sha256, row.savedAt, row.project),
      ),
    removeShared: (project) =>
      database
        .prepare('DELETE FROM artifacts WHERE project = ? RETURNING *')
        .all(project)
        .map((row) => rowSchema.parse(row)),
    removeAll: (agentId) => {
      database.prepare('DELETE FROM artifacts WHERE agent_id = ?').run(agentId)
    },
  }
}
