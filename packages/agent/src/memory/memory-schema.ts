/** One step of the schema. A released step never changes; the highest number is the file's version. */
interface SchemaStep {
  readonly version: number
  readonly sql: string
}

const steps: readonly SchemaStep[] = [
  {
    version: 1,
    sql: `
      CREATE TABLE facts (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        key TEXT UNIQUE,
        text TEXT NOT NULL,
        category TEXT NOT NULL,
        trust TEXT NOT NULL,
        run_id TEXT NOT NULL,
        tool TEXT NOT NULL,
        origin TEXT NOT NULL,
        channel TEXT NOT NULL,
        urls TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        last_used_at INTEGER NOT NULL,
        use_count INTEGER NOT NULL DEFAULT 0,
        last_used_by TEXT,
        embedded INTEGER NOT NULL DEFAULT 0,
        embed_failures INTEGER NOT NULL DEFAULT 0
      ) STRICT;
      CREATE INDEX facts_by_text ON facts (text);
      CREATE INDEX facts_by_category ON facts (category);
      CREATE INDEX facts_by_use ON facts (last_used_at);
      CREATE INDEX facts_pending ON facts (embed_failures, id) WHERE embedded = 0;
      CREATE VIRTUAL TABLE fact_words USING fts5(
        words, content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2'
      );
      CREATE TABLE vector_space (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        model TEXT NOT NULL,
        dimension INTEGER
      ) STRICT;
    `,
  },
]

interface SchemaTarget {
  exec(sql: string): void
  version(): number
}

/** Applies all missing steps, one transaction each. Throws for a file that a newer release wrote. */
export function applySchema(target: SchemaTarget): void {
  const newest = steps.at(-1)?.version ?? 0
  const found = target.version()
  if (found > newest) throw new Error(`the memory was written by a newer release (schema ${found})`)
  for (const step of steps) {
    if (step.version <= found) continue
    target.exec(`BEGIN IMMEDIATE; ${step.sql} PRAGMA user_version=${step.version}; COMMIT;`)
  }
}
