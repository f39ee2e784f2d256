import type { Migration } from '../migrate.ts'

/** How many tokens a run may use; null for no such cap. */
export const runTokensMigration: Migration = {
  version: 4,
  name: 'run-tokens',
  sql: 'ALTER TABLE runs ADD COLUMN budget_tokens INTEGER CHECK (budget_tokens > 0);',
}
