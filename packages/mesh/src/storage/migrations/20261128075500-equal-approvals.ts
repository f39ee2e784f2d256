import type { Migration } from '../migrate.ts'

/**
 * `approvals.effect` is a digest of what an action does: of one asker, two actions with the same effect never wait at once.
 * `approval_runs` lists the further runs that asked for an action that was already waiting. `wallet_intents.does` says what
 * a payment does, its fee and its nonce aside. Null in rows that were written before these columns existed.
 */
export const equalApprovalsMigration: Migration = {
  version: 20261128075500,
  name: 'equal-approvals',
  sql: `
    ALTER TABLE approvals ADD COLUMN effect TEXT;
    CREATE UNIQUE INDEX approvals_one_effect ON approvals (asked_by, effect) WHERE state = 'pending' AND effect IS NOT NULL;
    CREATE TABLE approval_runs (
      approval_id TEXT NOT NULL,
      run_id TEXT NOT NULL,
      PRIMARY KEY (approval_id, run_id)
    ) STRICT;
    CREATE INDEX approval_runs_by_run ON approval_runs (run_id);
    ALTER TABLE wallet_intents ADD COLUMN does TEXT;
    CREATE INDEX wallet_intents_equal ON wallet_intents (does, signed_at);
  `,
}
