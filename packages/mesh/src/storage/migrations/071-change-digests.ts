import type { Migration } from '../migrate.ts'

/** Which edit a change came of, so that its idempotency key is never taken for another's. */
export const changeDigestsMigration: Migration = {
  version: 71,
  name: 'change digests',
  sql: `ALTER TABLE changes ADD COLUMN digest TEXT NOT NULL DEFAULT '';`,
}
