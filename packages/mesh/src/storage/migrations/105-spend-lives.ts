import type { Migration } from '../migrate.ts'

/**
 * The process start that made an open reservation: that process alone releases it, and the next process settles the
 * rest. No sum may become negative; such a write fails as a whole, so that money stays reserved. (The check runs after
 * an insert, because before it the row is a difference and not a sum.)
 */
export const spendLivesMigration: Migration = {
  version: 105,
  name: 'spend lives',
  sql: `
    ALTER TABLE spend ADD COLUMN life TEXT;
    CREATE TRIGGER spend_total_stays_above_zero BEFORE UPDATE ON spend_total
      WHEN NEW.open_nano < 0 OR NEW.spent_nano < 0 OR NEW.calls < 0 OR NEW.tokens < 0
      BEGIN SELECT RAISE(ABORT, 'a sum of money would fall below zero'); END;
    CREATE TRIGGER spend_total_begins_above_zero AFTER INSERT ON spend_total
      WHEN NEW.open_nano < 0 OR NEW.spent_nano < 0 OR NEW.calls < 0 OR NEW.tokens < 0
      BEGIN SELECT RAISE(ABORT, 'a sum of money would begin below zero'); END;
  `,
}
