import { existsSync } from 'node:fs'
import { journalTrust, mayBeBare, secretPlaces } from '../open-journal.ts'
import { dataPaths } from '@flotilla/foundation/config'
import { verifyJournal as verifyChain } from '@flotilla/foundation/journal'
import { openDatabase } from '@flotilla/foundation/storage'
import { findMeshSecret } from '@flotilla/egress/credentials'
import type { CommandContext } from './command-context.ts'

/** Verifies the whole hash chain of the audit log, with or without a running mesh. */
export async function verifyJournal({ environment, env, print }: CommandContext): Promise<number> {
  const paths = dataPaths(environment.home)
  if (!existsSync(paths.database)) {
    print({ ok: false, rows: 0, detail: `the database ${paths.database} does not exist` })
    return 1
  }
  const database = openDatabase(paths.database)
  try {
    const secret = await findMeshSecret(secretPlaces({ env, paths, database }))
    const report = verifyChain(
      database,
      secret ? journalTrust(paths, secret, mayBeBare(paths, database)) : null,
    )
    print({ ...report, sealed: secret !== null })
    return report.ok ? 0 : 1
  } finally {
    database.close()
  }
}
