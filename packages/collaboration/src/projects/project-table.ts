import { hintOfName } from '@flotilla/protocol/nearest-name'
import { Problem } from '@flotilla/protocol/problem'
import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'
import { jsonColumn } from '@flotilla/foundation/storage'

const projectSchema = z.object({
  name: z.string(),
  goal: z.string(),
  criteria: jsonColumn(z.array(z.string())),
  goal_version: z.number(),
  archived_at: z.number().nullable(),
  created_at: z.number(),
  updated_at: z.number(),
})
export type ProjectRow = Readonly<z.infer<typeof projectSchema>>

const sectionSchema = z.object({
  name: z.string(),
  text: z.string(),
  version: z.number(),
  updated_by: z.string(),
  updated_at: z.number(),
})
export type SectionRow = Readonly<z.infer<typeof sectionSchema>>

export type ProjectTable = ReturnType<typeof createProjectTable>

/** Reads and writes the rows of projects; callers make the decisions. */
export function createProjectTable(database: Database) {
  /**
   * Cached because the guard checks on many calls whether a project is archived; only this table changes these rows.
   */
  const archived = new Map<string, boolean>()
  const forget = (name: string): void => {
    archived.delete(name)
    database.afterRollback(() => archived.delete(name))
  }
  const find = (name: string): ProjectRow | null => {
    const row = database.prepare('SELECT * FROM projects WHERE name = ?').get(name)
    return row ? projectSchema.parse(row) : null
  }

  return {
    find,
    isArchived: (name: string): boolean => {
      const known = archived.get(name)
      if (known !== undefined) return known
      const is = (find(name)?.archived_at ?? null) !== null
      archived.set(name, is)
      return is
    },
    list: (): readonly ProjectRow[] =>
      database
        .prepare('SELECT * FROM projects ORDER BY name')
        .all()
        .map((row) => projectSchema.parse(row)),
    count: (): number =>
      Number(database.prepare('SELECT count(*) AS count FROM projects').get()?.['count'] ?? 0),
    /** Returns false if the project exists already. */
    insert: (name: string, at: number): boolean => {
      forget(name)
      return (
        database
          .prepare('INSERT OR IGNORE INTO projects (name, created_at, updated_at) VALUES (?, ?, ?)')
          .run(name, at, at).changes === 1
      )
    },
    setArchived: (name: string, archivedAt: number | null, at: number): void => {
      forget(name)
      database
        .prepare('UPDATE projects SET archived_at = ?, updated_at = ? WHERE name = ?')
        .run(archivedAt, at, name)
    },
    /** Deletes the project with its sections. */
    remove: (name: string): void => {
      forget(name)
      database.prepare('DELETE FROM project_sections WHERE project = ?').run(name)
      database.prepare('DELETE FROM projects WHERE name = ?').run(name)
    },
    /** Writes the goal if `expected` is its version, in one statement: one of two writers wins. True if written. */
    writeGoal: (
      name: string,
      goal: { readonly text: string; readonly criteria: readonly string[]; readonly expected: number },
      at: number,
    ): boolean =>
      database
        .prepare(
          'UPDATE projects SET goal = ?, criteria = ?, goal_version = goal_version + 1, updated_at = ? WHERE name = ? AND goal_version = ?',
        )
        .run(goal.text, JSON.stringify(goal.criteria), at, name, goal.expected).changes === 1,
    sections: (name: string): readonly SectionRow[] =>
      database
        .prepare(
          "SELECT name, text, version, updated_by, updated_at FROM project_sections WHERE project = ? AND text <> '' ORDER BY name",
        )
        .all(name)
        .map((row) => sectionSchema.parse(row)),
    section: (name: string, section: string): SectionRow | null => {
      const row = database
        .prepare(
          'SELECT name, text, version, updated_by, updated_at FROM project_sections WHERE project = ? AND name = ?',
        )
        .get(name, section)
      return row ? sectionSchema.parse(row) : null
    },
    /** Writes a section as `writeGoal` writes the goal. A deleted section's row stays: no version is used twice. */
    writeSection: (
      name: string,
      section: { readonly name: string; readonly text: string; readonly expected: number },
      mark: { readonly by: string; readonly at: number },
    ): boolean => {
      const { changes } = database
        .prepare(
          `INSERT INTO project_sections (project, name, text, version, updated_by, updated_at)
           SELECT :project, :name, :text, 1, :by, :at
           WHERE :expected = 0 OR EXISTS (SELECT 1 FROM project_sections WHERE project = :project AND name = :name)
           ON CONFLICT (project, name) DO UPDATE SET text = excluded.text, version = project_sections.version + 1,
             updated_by = excluded.updated_by, updated_at = excluded.updated_at
           WHERE project_sections.version = :expected OR (:expected = 0 AND project_sections.text = '')`,
        )
        .run({
          project: name,
          name: section.name,
          text: section.text,
          expected: section.expected,
          by: mark.by,
          at: mark.at,
        })
      return changes === 1
    },
  }
}

/** `known` are the projects that the caller may read; the nearest name is suggested from them. */
export function noSuchProject(name: string, known: readonly string[] = []): Problem {
  const hint = known.length === 0 ? '' : `; ${hintOfName(name, known, 'the projects are')}`
  return new Problem('not-found', {
    detail: `there is no project ${name}${hint}`,
    repair: 'List the projects with flotilla projects.',
  })
}
