import { createDeviceGuard, createFileEditor, watchSettings } from '@flotilla/foundation/config'
import type { DataPaths, FileEditor, SettingsFile } from '@flotilla/foundation/config'
import { createVault } from '@flotilla/egress/credentials'
import { createEffectOnce } from '@flotilla/foundation/effects'
import { createEventBus } from '@flotilla/foundation/events'
import { createDownloadRoom } from '@flotilla/identity/http'
import { createAgentShares } from '@flotilla/foundation/intake'
import { makerOf, rootOf } from '@flotilla/identity/events'
import type { Kernel } from '@flotilla/identity/kernel'
import {
  authorize,
  createDenialCounts,
  createGuard,
  createJournalGrants,
  createPermissionFile,
  createRateLimits,
  createRefuseAboveCeiling,
  writeFirstPermissions,
} from '@flotilla/identity/access'
import type { PermissionStore } from '@flotilla/identity/access'
import { createPolicyFile } from '@flotilla/identity/policy'
import type { Log } from '@flotilla/foundation/platform'
import { loopCpuMs, randomId, randomToken, systemClock } from '@flotilla/foundation/platform'
import { openStorage } from '@flotilla/foundation/storage'
import type { WriteFence } from '@flotilla/foundation/storage'
import type { CommandContext } from './commands/command-context.ts'
import {
  composeJournal,
  composeJournalKeeper,
  composeMeshSecret,
  journalTrust,
  mayBeBare,
} from './open-journal.ts'
import { createIdentityEvents } from '@flotilla/identity/events'
import type { IdentityKernel } from '@flotilla/identity/events'

const clock = systemClock

interface KernelParts {
  readonly context: Pick<CommandContext, 'env' | 'environment'>
  readonly paths: DataPaths
  readonly log: Log
  readonly fence: WriteFence | null
}

/**
 * Creates what all modules depend on: the home's files and database, the audit log, the guard. The audit log is
 * verified before any other code reads it.
 */
export async function createKernel({ context, paths, log, fence }: KernelParts) {
  const { env, environment } = context
  const editor = createFileEditor(createDeviceGuard(paths.home))
  await writeFirstPermissions(paths)
  const { database, diskSpace } = openStorage({
    path: paths.database,
    folder: paths.dataFolder,
    clock,
    fence: fence ?? undefined,
    onEffectError: (error) => log.error({ err: error }, 'post-commit hook failed; the data is committed'),
  })
  const bareHead = mayBeBare(paths, database)
  const meshSecret = await composeMeshSecret({ env, paths, editor, database, log })
  const vault = await createVault({ env, envFilePath: paths.envFile, editor })
  const trust = journalTrust(paths, meshSecret, bareHead)
  const journal = composeJournal({ database, trust })
  const events = createEventBus({ database, clock, log })
  const settings = await openSettings({ path: paths.settingsFile, editor, log })
  const journalKeeper = composeJournalKeeper({ database, journal, trust, settings, events, log })
  journalKeeper.verify()
  const identityEvents = createIdentityEvents()
  const permissions = await openPermissions(
    { database, log, journal, events, identityEvents },
    { path: paths.permissionsFile, editor },
  )
  const shares = createAgentShares({ clock, cpuMs: loopCpuMs })
  const policy = await createPolicyFile({
    path: paths.policyFile,
    editor,
    clock,
    log,
    inSteps: (work) => shares.calls.inSteps(null, work, 'finish'),
  })
  const denials = createDenialCounts(clock)
  const onDenied = identityEvents.callDenied.publish
  const kernel: Kernel = {
    database,
    clock,
    newId: randomId,
    randomToken,
    log,
    journal,
    events,
    guard: createGuard({ permissions, denials, journal, events, clock, log, onDenied }),
    decide: (caller, action) => authorize(permissions.snapshot(), caller, action),
    settings: settings.current,
    // If agents run as plain processes, the agent API may listen on another port.
    ports: { people: environment.port, agentApi: environment.agentPort, proxy: 0, open: [] },
  }
  const effects = createEffectOnce({ database, clock })
  const rates = createRateLimits({ clock, perMinute: () => settings.current().rate_limits, journal })
  const refuseAbove = createRefuseAboveCeiling({ denials, journal, events, log })
  return {
    kernel,
    identityEvents,
    foundation: { editor, diskSpace, settingsFile: settings, journalKeeper, effects, shares },
    access: { permissions, policy, denials, rates, refuseAbove, downloads: createDownloadRoom() },
    secrets: { vault, meshSecret },
  }
}

interface OpenedFile {
  readonly path: string
  readonly editor: FileEditor
}

function openSettings({ path, editor, log }: OpenedFile & { readonly log: Log }): Promise<SettingsFile> {
  return watchSettings({
    path,
    clock,
    editor,
    onBroken: (detail) =>
      log.error({ detail }, 'config/settings.json is invalid; using the last valid settings'),
    onStripped: (names) =>
      log.warn({ names }, 'removed secrets from config/settings.json; they belong in .env'),
  })
}

async function openPermissions(
  {
    identityEvents,
    events,
    ...kernel
  }: Pick<IdentityKernel, 'database' | 'log' | 'journal' | 'events' | 'identityEvents'>,
  { path, editor }: OpenedFile,
): Promise<PermissionStore> {
  const file = await createPermissionFile({
    makerOf: (agentId) => makerOf(identityEvents, agentId),
    path,
    editor,
    clock,
    log: kernel.log,
    onBroken: (detail) => {
      if (detail !== null) events.publish({ type: 'permissions.broken', detail })
    },
    onRecords: createJournalGrants(kernel),
  })
  // Every decision asks for an agent's project, which is stored in rows of a module. A spawned agent belongs to the
  // project of its root ancestor, also after that ancestor was moved.
  const projectOf = (agentId: string) =>
    identityEvents.projectOf.ask(rootOf(identityEvents, agentId))[0] ?? null
  return { ...file, snapshot: () => ({ ...file.snapshot(), projectOf }) }
}
