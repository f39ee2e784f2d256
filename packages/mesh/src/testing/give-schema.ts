import * as z from 'zod'
import { openDatabase } from '../storage/database.ts'
import type { Database } from '../storage/database.ts'
import { allMigrations } from '../storage/migrations/all-migrations.ts'
import { migrate } from '../storage/migrate.ts'

const objectsSchema = z.array(z.object({ sql: z.string() }))
const stepsSchema = z.array(z.object({ version: z.number(), name: z.string(), digest: z.string() }))

interface Schema {
  readonly sql: string
  readonly steps: z.infer<typeof stepsSchema>
}

let known: Schema | null = null

/**
 * Brings a database to where `migrate` brings it. A new one is given in one go what the steps come to, found once for
 * each worker: nearly every test opens one, and the steps by themselves take eight times as long.
 */
export function giveSchema(database: Database): void {
  if (database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'schema_steps'").get() !== undefined) {
    migrate(database, allMigrations)
    return
  }
  const { sql, steps } = (known ??= schemaOfNew())
  database.transaction(() => {
    database.exec(sql)
    const insert = database.prepare('INSERT INTO schema_steps (version, name, digest) VALUES (?, ?, ?)')
    for (const { version, name, digest } of steps) insert.run(version, name, digest)
  })
}

function schemaOfNew(): Schema {
  const database = openDatabase(':memory:')
  try {
    migrate(database, allMigrations)
    // Tables before their indexes and triggers, as they were made.
    const objects = objectsSchema.parse(
      database
        .prepare(
          "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid",
        )
        .all(),
    )
    return {
      sql: objects.map((one) => one.sql).join(';\n'),
      steps: stepsSchema.parse(database.prepare('SELECT version, name, digest FROM schema_steps').all()),
    }
  } finally {
    database.close()
  }
}
