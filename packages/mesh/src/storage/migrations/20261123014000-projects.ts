import type { Migration } from '../migrate.ts'

/** The texts of a project, in parts with separate versions. Names in use become projects. */
export const projectsMigration: Migration = {
  version: 20261123014000,
  name: 'projects',
  sql: `
    CREATE TABLE projects (
      name TEXT PRIMARY KEY,
      goal TEXT NOT NULL DEFAULT '',
      criteria TEXT NOT NULL DEFAULT '[]',
      goal_version INTEGER NOT NULL DEFAULT 0,
      archived_at INTEGER,
      created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL
    ) STRICT;
    INSERT INTO projects (name, created_at, updated_at)
      SELECT DISTINCT project, 0, 0 FROM agents WHERE project IS NOT NULL
      UNION SELECT substr(scope, 9), 0, 0 FROM budgets WHERE scope LIKE 'project:%';
    CREATE TABLE project_sections (
      project TEXT NOT NULL REFERENCES projects (name),
      name TEXT NOT NULL,
      text TEXT NOT NULL,
      version INTEGER NOT NULL,
      updated_by TEXT NOT NULL,
      updated_at INTEGER NOT NULL,
      PRIMARY KEY (project, name)
    ) STRICT, WITHOUT ROWID;
    ALTER TABLE artifacts ADD COLUMN project TEXT;
    CREATE INDEX artifacts_by_project ON artifacts (project, saved_at) WHERE project IS NOT NULL;
  `,
}
