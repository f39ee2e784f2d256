import type { Migration } from '../migrate.ts'

/** Each write counts what its writer has already. */
export const blackboardWritersMigration: Migration = {
  version: 20261128073000,
  name: 'blackboard-writers',
  sql: `
    CREATE INDEX blackboard_by_writer ON blackboard (written_by);
    CREATE INDEX notes_by_agent ON notes (agent_id, seq);
  `,
}
