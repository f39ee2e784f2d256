import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import { createPermissionFile } from '../../identity/src/access/permission-file.ts'
import { createPermissionGrants } from '../../identity/src/access/permission-grants.ts'
import type { Caller } from '../../identity/src/access/caller.ts'
import { writeFirstPermissions } from '../../identity/src/access/first-permissions.ts'
import { agentSettingsOf } from '../../foundation/src/config/agent-settings.ts'
import { createFileEditor } from '../../foundation/src/config/atomic-file.ts'
import { dataPaths } from '../../foundation/src/config/data-paths.ts'
import { watchSettings } from '../../foundation/src/config/watch-settings.ts'
import { createSecret } from '../../egress/src/credentials/secret.ts'
import type { Secret } from '../../egress/src/credentials/secret.ts'
import { silentLog } from '../../foundation/src/platform/log.ts'
import { createApplicationTable } from '../../operations/src/templates/application-table.ts'
import { createApplyTemplate } from '../../operations/src/templates/apply-template.ts'
import { createExportFleet } from '../../operations/src/templates/export-fleet.ts'
import { currentFleet } from '../../operations/src/templates/current-fleet.ts'
import { createProjects } from '../../collaboration/src/projects/projects.ts'
import { createBlackboardWatches } from '../../collaboration/src/blackboard/set-watch.ts'
import { createBlackboardWatchTable } from '../../collaboration/src/blackboard/watch-table.ts'
import { createFileWatches } from '../../inbound/src/triggers/watch/carry-watchers.ts'
import { readFolder } from '../../inbound/src/triggers/watch/read-folder.ts'
import { openCronJobs } from '../../inbound/src/triggers/cron/index.ts'
import { createWebhooks } from '../../inbound/src/triggers/webhook/webhooks.ts'
import { aFleet } from './fleet-harness.ts'
import { createBudgetTable } from '../../inference/src/spending/budget-table.ts'
import { contextEvents } from './context-events.ts'

/**
 * Templates over a real fleet, real files of permissions and jobs, real webhooks and the rows of budgets; the
 * engine and the vault are fakes.
 */
export async function aTemplatesHarness() {
  const home = await mkdtemp(join(tmpdir(), 'flotilla-templates-'))
  const paths = dataPaths(home)
  const editor = createFileEditor()
  await writeFirstPermissions(paths)
  const stored = new Map<string, Secret>()
  const base = await aFleet()
  const permissions = await createPermissionFile({
    path: paths.permissionsFile,
    editor,
    clock: base.clock,
    log: silentLog,
    onBroken: () => {},
  })
  await base.close()
  const grants = createPermissionGrants(permissions)
  const fleetHarness = await aFleet({
    grants,
    permissionsOf: (agentId) => permissions.snapshot().recordOf(agentId) ?? null,
  })
  const { deps } = fleetHarness
  /** Called before each step that changes something; an error that it throws fails the step. */
  const before: { step: (name: string) => void } = { step: () => {} }
  const ids = (prefix: string) => `${prefix}_${deps.newId('hook').slice(5).padStart(16, '0')}`
  const contexts = contextEvents()
  const jobs = await openCronJobs({ ...contexts, ...deps, newId: ids } as never, {
    path: paths.cronFile,
    editor,
  })
  const webhooks = createWebhooks({
    ...deps,
    newId: ids,
    vault: {
      system: (name: string) => stored.get(name),
      names: () => ({ system: [...stored.keys()], agent: [] }),
      storeSystem: async (name: string, value: string) => {
        before.step('secret')
        stored.set(name, createSecret(name, value))
      },
      removeSystem: async (name: string) => void stored.delete(name),
    },
    submitRun: () => {
      throw new Error('not called by these tests')
    },
    requireAgent: fleetHarness.fleet.registry.requireWorking,
    perMinute: () => 60,
    randomBytes: (count) => Buffer.alloc(count, 7),
  })
  const budgets = createBudgetTable(fleetHarness.database)
  const scope = (project: string) => `project:${project}`
  const watches = createBlackboardWatches({
    ...deps,
    newId: ids,
    database: fleetHarness.database,
    table: createBlackboardWatchTable(fleetHarness.database),
    requireAgent: (agentId) => void fleetHarness.fleet.registry.require(agentId),
    heldBecause: () => null,
  })
  const fileWatches = createFileWatches({
    path: paths.watchersFile,
    editor,
    scanFolder: async (path, { pattern }) => readFolder(path, pattern, () => false),
  })
  const projects = createProjects({
    ...contexts,
    ...deps,
    database: fleetHarness.database,
    agents: fleetHarness.fleet.registry,
    decide: () => ({ allowed: true }),
    setAgentProject: (_caller, agentId, project) => fleetHarness.fleet.registry.setProject(agentId, project),
    dropBudget: () => {},
    tasks: { countsOf: () => ({}), ofProject: () => [] },
    budgetOf: () => ({ daily_usd: null, monthly_usd: null, today_usd: 0, month_usd: 0 }),
    refreshBriefings: () => {},
  })
  const settingsFile = await watchSettings({
    path: paths.settingsFile,
    clock: base.clock,
    editor,
    onBroken: () => {},
    onStripped: () => {},
  })
  const parts = {
    watches,
    projects,
    settingsFile: {
      ...settingsFile,
      editAll: async (...edit: Parameters<typeof settingsFile.editAll>) => {
        before.step('settings')
        await settingsFile.editAll(...edit)
        before.step('settings written')
      },
    },
    fileWatches: {
      ...fileWatches,
      write: async (...edit: Parameters<typeof fileWatches.write>) => {
        before.step('watchers')
        await fileWatches.write(...edit)
        before.step('watchers written')
      },
      takeBack: async (...edit: Parameters<typeof fileWatches.takeBack>) => {
        before.step('watchers')
        await fileWatches.takeBack(...edit)
      },
    },
    kernel: { ...deps, newId: ids },
    grants,
    agents: { ...fleetHarness.fleet.registry, ...fleetHarness.fleet.admin, ...fleetHarness.fleet.briefing },
    permissions: {
      snapshot: permissions.snapshot,
      edit: async (...edit: Parameters<typeof permissions.edit>) => {
        before.step('permissions')
        await permissions.edit(...edit)
        before.step('permissions written')
      },
    },
    spending: {
      budgets: {
        projectLimits: (project: string) => budgets.read(scope(project)),
        set: (
          _caller: Caller,
          { id }: { readonly id: string | null },
          edit: {
            readonly daily_usd?: number | null | undefined
            readonly monthly_usd?: number | null | undefined
          },
        ) => {
          const was = budgets.read(scope(id ?? ''))
          const is = { dailyUsd: edit.daily_usd ?? null, monthlyUsd: edit.monthly_usd ?? null }
          budgets.write(scope(id ?? ''), is)
          return { before: was, after: is }
        },
      },
    },
    webhooks,
    jobs: {
      file: jobs.file,
      readCondition: jobs.readCondition,
      edit: async (change: Parameters<typeof jobs.edit>[0]) => {
        before.step('jobs')
        await jobs.edit(change)
        before.step('jobs written')
      },
    },
  }
  const applications = createApplicationTable(fleetHarness.database)
  const make = () =>
    createApplyTemplate({
      ...parts,
      applications: { ...applications, end: (id: string) => (before.step('end'), applications.end(id)) },
    })
  return {
    home,
    paths,
    fleetHarness,
    before,
    stored,
    jobs,
    watches,
    fileWatches,
    settingsFile,
    webhooks,
    permissions,
    applications,
    application: make(),
    /** An application whose policy permits everything, so that its own checks are tested. */
    trusting: () =>
      createApplyTemplate({ ...parts, kernel: { ...parts.kernel, guard: () => {} }, applications }),
    /** Simulates a mesh that was killed and starts again. */
    again: make,
    exportFleet: createExportFleet({ ...parts, guard: deps.guard }),
    standing: () => currentFleet(parts),
    /** Everything that a template may change, as comparable values without generated ids and timestamps. */
    state: () => {
      const records: Record<string, PermissionRecord | null> = {}
      for (const { id } of fleetHarness.fleet.registry.list())
        records[id] = permissions.snapshot().recordOf(id) ?? null
      return {
        agents: fleetHarness.fleet.registry.list().map(({ createdAt: _made, ...record }) => ({
          ...record,
          files: fleetHarness.fleet.registry.seedFiles.of(record.id),
          mcpServers: fleetHarness.fleet.registry.mcpServers.of(record.id),
          settings: agentSettingsOf(settingsFile.current(), record.id),
        })),
        records,
        jobs: jobs.file
          .jobs()
          .map(({ created_at: _at, created_by: _by, ...job }) => (job.heartbeat ? { ...job, id: '' } : job))
          .toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
        hooks: webhooks
          .all()
          .map(({ agentId, name, instructions, when, perMinute, repeats, secretNumber }) => ({
            agentId,
            name,
            instructions,
            when,
            perMinute,
            repeats,
            signed: secretNumber !== null,
          }))
          .toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
        watches: fleetHarness.fleet.registry
          .list()
          .flatMap(({ id }) => watches.of(id).map(({ pattern, tell }) => ({ id, pattern, tell }))),
        watchers: fileWatches.entries(),
        projects: budgets
          .projects()
          .map((name) => ({ name, ...budgets.read(scope(name)), texts: projects.textsOf(name) })),
      }
    },
    breakJobs: () => writeFile(paths.cronFile, '{'),
    close: async () => {
      await permissions.close()
      await settingsFile.close()
      await fleetHarness.close()
      await rm(home, { recursive: true, force: true })
    },
  }
}
