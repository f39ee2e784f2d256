import { existsSync } from 'node:fs'
import type { DataPaths, FileEditor, SettingsFile } from '@flotilla/foundation/config'
import type { EventBus } from '@flotilla/foundation/events'
import {
  createAnchorFile,
  createJournal,
  createJournalKeeper,
  createJournalSeal,
  readHead,
  whoseSeals,
} from '@flotilla/foundation/journal'
import type { Journal, JournalTrust } from '@flotilla/foundation/journal'
import type { Log } from '@flotilla/foundation/platform'
import type { Database } from '@flotilla/foundation/storage'
import { randomToken, systemClock } from '@flotilla/foundation/platform'
import { openMeshSecret } from '@flotilla/egress/credentials'
import type { MeshSecretDeps, Secret } from '@flotilla/egress/credentials'

/**
 * Returns true if the audit log may come from a release that did not seal it. Call it before the home's secret is
 * written to a file: from then on the log is always sealed.
 */
export function mayBeBare(paths: DataPaths, database: Database): boolean {
  return !existsSync(paths.meshSecret) && readHead(database)?.seal === ''
}

/** Returns what the audit log is verified with, besides the database. */
export function journalTrust(paths: DataPaths, meshSecret: Secret, bareHead = false) {
  return {
    bareHead,
    seal: createJournalSeal(meshSecret.reveal()),
    anchors: createAnchorFile(paths.journalAnchors),
  } satisfies JournalTrust
}

/** Opens the secret of a home that is about to start; see `openMeshSecret`. */
export function composeMeshSecret(parts: {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly paths: DataPaths
  readonly editor: FileEditor
  readonly database: Database
  readonly log: Log
}): Promise<Secret> {
  return openMeshSecret({ ...parts, ...secretPlaces(parts), randomToken })
}

/** Returns the places in which the secret of a home may be, and the check that recognizes it. */
export function secretPlaces(parts: {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly paths: DataPaths
  readonly database: Database
}): MeshSecretDeps {
  const { env, paths, database } = parts
  const anchors = createAnchorFile(paths.journalAnchors)
  return {
    env,
    envFilePath: paths.envFile,
    secretPath: paths.meshSecret,
    sealed: (secret) =>
      secret
        ? whoseSeals(database, journalTrust(paths, secret))
        : // No seal is empty, so any seal counts as made with another secret.
          whoseSeals(database, { seal: () => '', anchors }),
  }
}

export function composeJournal(parts: {
  readonly database: Database
  readonly trust: ReturnType<typeof journalTrust>
}): Journal {
  return createJournal({ database: parts.database, clock: systemClock, seal: parts.trust.seal })
}

export function composeJournalKeeper(parts: {
  readonly database: Database
  readonly journal: Journal
  readonly trust: ReturnType<typeof journalTrust>
  readonly settings: SettingsFile
  readonly events: Pick<EventBus, 'publish'>
  readonly log: Log
}) {
  const { trust, settings, events, log } = parts
  return createJournalKeeper({
    ...parts,
    ...trust,
    clock: systemClock,
    retention: () => settings.current().journal,
    onBroken: (detail) => {
      log.error(
        { detail },
        'the audit log was modified outside the mesh; new entries continue after the break',
      )
      events.publish({ type: 'journal.broken', detail })
    },
  })
}
