import type { Migration } from '../migrate.ts'

/**
 * Which life of the mesh made an open hold: it alone gives it back, and the next settles what others left. No sum may
 * fall below zero; a write that would is undone whole, so that money is held rather than made. (Before an insert the
 * row is a change and not a sum yet, hence after it.)
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
