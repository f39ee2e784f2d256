import { existsSync, lstatSync } from 'node:fs'
import { mkdir, open, rename } from 'node:fs/promises'
import { Problem } from '@flotilla/protocol/problem'
import { composeJournal, journalTrust, secretPlaces } from '../open-journal.ts'
import { dataPaths, lockHome } from '../../config/index.ts'
import type { DataPaths } from '../../config/index.ts'
import { createJournalKeeper } from '../../journal/index.ts'
import { createLog, randomToken, systemClock, openCommandOutput } from '../../platform/index.ts'
import type { Database } from '../../storage/index.ts'
import { openStorage } from '../../storage/index.ts'
import { createSecret, meshSecretName, placeOfOurs, writeSecretFile } from '../../credentials/index.ts'
import type { CommandContext } from './command-context.ts'

/** Names of one moment that are tried. */
const namesMax = 100
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
    const log = createLog(environment.logLevel, openCommandOutput(pid))
    const { database } = openStorage({
      path: paths.database,
      folder: paths.dataFolder,
      clock: systemClock,
      onEffectError: (error) => log.error({ err: error }, 'post-commit hook failed; the data is committed'),
    })
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
  const place = await placeOfOurs(secretPlaces({ env, paths, database }))
  if (place !== null) {
    throw new Problem('conflict', {
      detail: `the secret of this home is in ${place} and fits: nothing was lost`,
      repair: `Where the mesh does not start, make it the only line of ${paths.meshSecret}. Where the journal is broken, start, then flotilla journal accept.`,
    })
  }
}

/** Under a free name with the moment; nothing that was kept before is written over. */
async function keepAside(path: string, now: number): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (!found) return
  const moment = new Date(now).toISOString().replaceAll(':', '-')
  for (let attempt = 1; attempt <= namesMax; attempt++) {
    const name = `${path}.refused-${moment}${attempt === 1 ? '' : `-${attempt}`}`
    try {
      // The name is taken first; what is renamed onto it replaces this empty one alone.
      if (found.isDirectory()) await mkdir(name, { mode: 0o700 })
      else await (await open(name, 'wx', 0o600)).close()
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'EEXIST') continue
      throw error
    }
    await rename(path, name)
    return
  }
  throw new Problem('conflict', { detail: `no name beside ${path} is free to keep it under` })
}

/** The file first: a life cut off after it is refused at the next start, and this may be done again. */
async function begin(paths: DataPaths, database: Database): Promise<{ through: number }> {
  // Whatever is there is kept aside: it may be what a backup lacks.
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
