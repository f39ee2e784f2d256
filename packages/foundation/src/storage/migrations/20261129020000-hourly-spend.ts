import type { Migration } from '../migrate.ts'

/**
 * Sums of model calls by the UTC hour in which they began and the kind of their run; the kind is empty for calls outside
 * of runs. Calls of earlier releases are summed up, without their use of caches, which was kept by day only.
 */
export const hourlySpendMigration: Migration = {
  version: 20261129020000,
  name: 'hourly-spend',
  sql: `
    CREATE TABLE spend_hourly (
      hour TEXT NOT NULL,
      kind TEXT NOT NULL,
      cost_nano INTEGER NOT NULL,
      unconfirmed_nano INTEGER NOT NULL,
      calls INTEGER NOT NULL,
      prompt_tokens INTEGER NOT NULL,
      completion_tokens INTEGER NOT NULL,
      read_tokens INTEGER NOT NULL,
      written_tokens INTEGER NOT NULL,
      read_nano INTEGER NOT NULL,
      written_nano INTEGER NOT NULL,
      saved_nano INTEGER NOT NULL,
      PRIMARY KEY (hour, kind)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO spend_hourly
      SELECT strftime('%Y-%m-%dT%H', spend.opened_at / 1000, 'unixepoch'), coalesce(runs.kind, ''),
        CAST(min(total(spend.cost_nano), 9007199254740991) AS INTEGER),
        CAST(min(total(CASE WHEN spend.unconfirmed IS NOT NULL THEN spend.cost_nano ELSE 0 END), 9007199254740991) AS INTEGER),
        count(*),
        CAST(min(total(spend.prompt_tokens), 9007199254740991) AS INTEGER),
        CAST(min(total(spend.completion_tokens), 9007199254740991) AS INTEGER), 0, 0, 0, 0, 0
      FROM spend LEFT JOIN runs ON runs.id = spend.run_id WHERE spend.state = 'settled' GROUP BY 1, 2;
  `,
}
