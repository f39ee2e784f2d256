import { existsSync, lstatSync } from 'node:fs'
import { mkdir, open, rename } from 'node:fs/promises'
import { Problem } from '@flotilla/protocol/problem'
import { composeJournal, journalTrust, secretPlaces } from '../open-journal.ts'
import { dataPaths, lockHome } from '@flotilla/foundation/config'
import type { DataPaths } from '@flotilla/foundation/config'
import { createJournalKeeper } from '@flotilla/foundation/journal'
import { randomToken, systemClock } from '@flotilla/foundation/platform'
import type { Database } from '@flotilla/foundation/storage'
import { openStorage } from '@flotilla/foundation/storage'
import { createSecret, meshSecretName, placeOfOurs, writeSecretFile } from '@flotilla/egress/credentials'
import { commandLog } from './command-context.ts'
import type { CommandContext } from './command-context.ts'

/** How many file names with the same timestamp are tried before the command gives up. */
const namesMax = 100
const lostWords = 'the secret of the mesh was lost or was another; a new one was made'

/**
 * Gives a home whose secret was lost a new secret, on request of a person. The audit log is kept, and its existing
 * rows are recorded as accepted by that person. Problem `conflict` if the home's secret is the right one.
 */
export async function beginJournal({ environment, env, print, pid }: CommandContext): Promise<number> {
  const paths = dataPaths(environment.home)
  if (!existsSync(paths.database)) {
    throw new Problem('conflict', {
      detail: `the home ${paths.home} has no audit log yet; the first start of the mesh creates it`,
    })
  }
  const lock = await lockHome(paths.home, { pid, deed: 'beginning-anew' })
  try {
    const log = commandLog({ environment, pid })
    const { database } = openStorage({
      path: paths.database,
      folder: paths.dataFolder,
      clock: systemClock,
      onEffectError: (error) => log.error({ err: error }, 'post-commit hook failed; the data is committed'),
    })
    try {
      await refuseNeedless(paths, env, database)
      print({ began: await begin(paths, database) })
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
  const place = await placeOfOurs(secretPlaces({ env, paths, database }))
  if (place !== null) {
    throw new Problem('conflict', {
      detail: `the secret of this home is not lost: it is in ${place}`,
      repair: `If the mesh does not start, write that secret as the only line of ${paths.meshSecret}. If the audit log is broken, start the mesh, then run flotilla journal accept.`,
    })
  }
}

/** Renames the file to a free name with a timestamp; earlier copies are never overwritten. */
async function keepAside(path: string, now: number): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (!found) return
  const moment = new Date(now).toISOString().replaceAll(':', '-')
  for (let attempt = 1; attempt <= namesMax; attempt++) {
    const name = `${path}.refused-${moment}${attempt === 1 ? '' : `-${attempt}`}`
    try {
      // Creates an empty file under the new name first, so that the rename can replace only this file.
      if (found.isDirectory()) await mkdir(name, { mode: 0o700 })
      else await (await open(name, 'wx', 0o600)).close()
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'EEXIST') continue
      throw error
    }
    await rename(path, name)
    return
  }
  throw new Problem('conflict', {
    detail: `the old file ${path} cannot be renamed, because all names for its copies are taken`,
  })
}

/**
 * Writes the secret file before the audit log: if the process is killed in between, the next start is refused and
 * this command can be repeated.
 */
async function begin(paths: DataPaths, database: Database): Promise<{ through: number }> {
  // The old secret file is kept, because a backup may need that secret.
  await keepAside(paths.meshSecret, systemClock.now())
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
