import { noOwnNames, ownNamesSchema, withOwnName } from '@flotilla/protocol/own-names'
import type { OwnNameChange, OwnNames } from '@flotilla/protocol/own-names'
import { Problem } from '@flotilla/protocol/problem'
import * as z from 'zod'
import { jsonColumn } from '@flotilla/foundation/storage'
import type { Database } from '@flotilla/foundation/storage'
import type { Caller } from '../access/index.ts'

const rowSchema = z.object({ names: jsonColumn(ownNamesSchema) })

/** The names that a person gave to conversations and filters: each person reads and changes only their own. */
export function createOwnNames(database: Database) {
  function read(person: string): OwnNames {
    const row = database.prepare('SELECT names FROM own_names WHERE person = ?').get(person)
    return row ? rowSchema.parse(row).names : noOwnNames
  }

  return {
    of: (caller: Caller): OwnNames => read(personOf(caller)),
    change: (caller: Caller, change: OwnNameChange): OwnNames => {
      const person = personOf(caller)
      return database.transaction(() => {
        const names = withOwnName(read(person), change)
        database
          .prepare(
            'INSERT INTO own_names (person, names) VALUES (?, ?) ON CONFLICT (person) DO UPDATE SET names = excluded.names',
          )
          .run(person, JSON.stringify(names))
        return names
      })
    },
    remove: (person: string): void => {
      database.prepare('DELETE FROM own_names WHERE person = ?').run(person)
    },
  }
}

export type OwnNamesOfPeople = ReturnType<typeof createOwnNames>

function personOf(caller: Caller): string {
  if (caller.kind === 'human') return caller.person ?? ''
  throw new Problem('denied', { detail: 'only a person has names of conversations and filters' })
}
