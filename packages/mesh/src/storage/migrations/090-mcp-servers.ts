import type { Migration } from '../migrate.ts'

/** `mcpServers` of an agent as JSON. They go with it. */
export const mcpServersMigration: Migration = {
  version: 90,
  name: 'mcp servers',
  sql: `
    CREATE TABLE mcp_servers (
      agent_id TEXT PRIMARY KEY REFERENCES agents (id) ON DELETE CASCADE,
      servers TEXT NOT NULL
    ) STRICT;
  `,
}
