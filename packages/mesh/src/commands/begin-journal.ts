import { existsSync, lstatSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { Problem } from '@flotilla/protocol/problem'
import { composeJournal, journalTrust } from '../compose-journal.ts'
import { composeStorage } from '../compose-storage.ts'
import { dataPaths } from '../config/data-paths.ts'
import type { DataPaths } from '../config/data-paths.ts'
import { lockHome } from '../config/home-lock.ts'
import { createJournalKeeper } from '../journal/keep-journal.ts'
import { whoseSeals } from '../journal/whose-seals.ts'
import { createLog } from '../log.ts'
import type { Database } from '../storage/database.ts'
import { randomToken, systemClock } from '../system-clock.ts'
import { meshSecretName } from '../vault/credential-tiers.ts'
import { writeSecretFile } from '../vault/mesh-secret-file.ts'
import { findMeshSecret } from '../vault/mesh-secret.ts'
import { createSecret } from '../vault/secret.ts'
import type { CommandContext } from './command-context.ts'

const lostWords = 'the secret of the mesh was lost or was another; a new one was made'

/**
 * A person gives a home whose secret is lost a new one. What the journal says so far stays, and is told as accepted by
 * that person from then on. Refused (`conflict`) where the secret is the right one: nothing was lost.
 */
export async function beginJournal({ environment, env, tell, pid }: CommandContext): Promise<number> {
  const paths = dataPaths(environment.home)
  if (!existsSync(paths.database)) {
    throw new Problem('conflict', {
      detail: `there is no journal in ${paths.home}; the first start begins one`,
    })
  }
  const lock = await lockHome(paths.home, { pid, deed: 'beginning-anew' })
  try {
    const { database } = composeStorage(paths, createLog(environment.logLevel))
    try {
      await refuseNeedless(paths, env, database)
      tell({ began: await begin(paths, database) })
    } finally {
      database.close()
    }
  } finally {
    await lock.release()
  }
  return 0
}

async function refuseNeedless(
  paths: DataPaths,
  env: CommandContext['env'],
  database: Database,
): Promise<void> {
  const places = { env, envFilePath: paths.envFile, secretPath: paths.meshSecret }
  // One that cannot be read is one of those that this is for.
  const known = await findMeshSecret(places).catch(() => null)
  if (known && whoseSeals(database, journalTrust(paths, known)) !== 'others') {
    throw new Problem('conflict', { detail: 'the secret of this home is there and fits: nothing was lost' })
  }
}

/** The file first: a life cut off after it is refused at the next start, and this may be done again. */
async function begin(paths: DataPaths, database: Database): Promise<{ through: number }> {
  // Whatever is there is kept aside: it may be what a backup lacks.
  if (lstatSync(paths.meshSecret, { throwIfNoEntry: false }))
    await rename(paths.meshSecret, `${paths.meshSecret}.refused`)
  const token = randomToken()
  await writeSecretFile(paths.meshSecret, token)
  const trust = journalTrust(paths, createSecret(meshSecretName, token))
  const journal = composeJournal({ database, trust })
  const keeper = createJournalKeeper({
    database,
    journal,
    ...trust,
    clock: systemClock,
    retention: () => ({ keep_days: Number.POSITIVE_INFINITY, max_rows: Number.POSITIVE_INFINITY }),
    onBroken: () => {},
  })
  keeper.accept('human:cli', lostWords)
  return { through: keeper.verifyWhole().after ?? 0 }
}
