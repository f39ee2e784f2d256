import { existsSync } from 'node:fs'
import type { FileEditor } from '../config/atomic-file.ts'
import type { DataPaths } from '../config/data-paths.ts'
import type { SettingsFile } from '../config/watch-settings.ts'
import type { EventBus } from '../events/event-bus.ts'
import { createAnchorFile } from '../journal/journal-anchors.ts'
import { createJournalSeal } from '../journal/journal-seal.ts'
import { createJournal, readHead } from '../journal/journal-table.ts'
import type { Journal } from '../journal/journal.ts'
import { createJournalKeeper } from '../journal/keep-journal.ts'
import type { JournalTrust } from '../journal/verify-journal.ts'
import { whoseSeals } from '../journal/whose-seals.ts'
import type { Log } from '../platform/log.ts'
import type { Database } from '../storage/database.ts'
import { randomToken, systemClock } from '../platform/system-clock.ts'
import { openMeshSecret } from '../credentials/mesh-secret.ts'
import type { MeshSecretDeps } from '../credentials/mesh-secret.ts'
import type { Secret } from '../credentials/secret.ts'
import { productVersion } from '../platform/version.ts'
import type { MeshParts } from './compose-parts.ts'

/**
 * Whether the journal may be that of a release which sealed nothing. Asked before the home has its secret in a file:
 * from then on every head is sealed.
 */
export function mayBeBare(paths: DataPaths, database: Database): boolean {
  return !existsSync(paths.meshSecret) && readHead(database)?.seal === ''
}

/** What the journal is verified against beside the database. */
export function journalTrust(paths: DataPaths, meshSecret: Secret, bareHead = false) {
  return {
    bareHead,
    seal: createJournalSeal(meshSecret.reveal()),
    anchors: createAnchorFile(paths.journalAnchors),
  } satisfies JournalTrust
}

/** The secret of a home that is about to start; see `openMeshSecret`. */
export function composeMeshSecret(parts: {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly paths: DataPaths
  readonly editor: FileEditor
  readonly database: Database
  readonly log: Log
}): Promise<Secret> {
  return openMeshSecret({ ...parts, ...secretPlaces(parts), randomToken })
}

/** Where the secret of a home may be, and how it is known. */
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
        : // No seal is empty: whatever was sealed is not of this one.
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
      log.error({ detail }, 'the journal was altered')
      events.publish({ type: 'journal.broken', detail })
    },
  })
}

/** The mesh works from here on. */
export function tellStart({ journal, journalKeeper, context, runtime }: MeshParts): void {
  journal.append({
    actor: 'system',
    action: 'mesh.started',
    subject: 'mesh',
    detail: { version: productVersion, pid: context.pid, runtime: runtime.kind },
  })
  // The first rows of a home are anchored at once: what no anchor holds can be made anew.
  journalKeeper.verify()
}

/** The last rows of a life, and the checkpoint on them. */
export function tellEnd({ journal, journalKeeper, budgets }: MeshParts): void {
  budgets.journalSpend()
  journal.append({ actor: 'system', action: 'mesh.stopped', subject: 'mesh', detail: {} })
  journalKeeper.close()
}
