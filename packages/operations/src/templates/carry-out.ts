import type { Caller } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import { agentSettingEdits } from '@flotilla/foundation/config'
import type { CronJob } from '@flotilla/inbound/triggers/cron'
import type { PreparedHooks } from '@flotilla/inbound/triggers/webhook'
import type { ApplicationUndo } from './application-table.ts'
import { undoOf } from './application-undo.ts'
import type { ApplyTemplateDeps } from './apply-context.ts'
import type { Planned } from './plan-template.ts'
import { brokenOff, createUndoApplication } from './undo-application.ts'

/** Writes the files after a row that describes how to restore them, then the rows. Restores the files on failure. */
export async function carryOut(
  deps: ApplyTemplateDeps,
  caller: Caller,
  planned: Planned,
): Promise<PreparedHooks['secrets']> {
  const { kernel, applications } = deps
  const id = kernel.newId('apply')
  const undo = undoOf(deps, caller, {
    planned,
    watchers: await deps.fileWatches.prepare(planned.watchers),
  })
  applications.begin({ id, at: kernel.clock.now(), undo })
  let prepared: PreparedHooks | null = null
  try {
    await writeFiles(deps, undo, actorOf(caller))
    prepared = await deps.webhooks.prepare(caller, planned.hooks)
    writeRows(deps, caller, { id, planned, prepared })
  } catch (error) {
    const left = await createUndoApplication(deps)({ id, undo })
    if (left.length === 0) throw error
    for (const { file, error: undoError } of left) {
      kernel.log.error(
        { file, err: undoError },
        'failed to restore a file after a template failed; the next start of the mesh restores it',
      )
    }
    throw brokenOff(error, left)
  } finally {
    await prepared?.release().catch((error: unknown) => {
      kernel.log.warn({ err: error }, 'found secrets of deleted webhooks; removing them in a minute')
    })
  }
  return prepared.secrets
}

async function writeFiles(
  { permissions, jobs, settingsFile, fileWatches }: ApplyTemplateDeps,
  { permissions: records, jobs: written, settings, watchers }: ApplicationUndo,
  actor: string,
): Promise<void> {
  if (Object.keys(records).length > 0)
    await permissions.edit((now) => ({ ...now, ...mapped(records, ({ after }) => after) }), actor)
  if (Object.keys(written).length > 0)
    await jobs.edit((now) =>
      putJobs(
        now,
        mapped(written, ({ after }) => after),
      ),
    )
  if (Object.keys(settings).length > 0)
    await settingsFile.editAll(() =>
      Object.entries(settings).flatMap(([agentId, { after }]) =>
        agentSettingEdits(agentId, Object.keys(after), after),
      ),
    )
  if (watchers !== null) await fileWatches.write(watchers)
}

/** Writes all rows and ends the application. */
function writeRows(
  { kernel, agents, applications, spending, projects, watches }: ApplyTemplateDeps,
  caller: Caller,
  {
    id,
    planned,
    prepared,
  }: { readonly id: string; readonly planned: Planned; readonly prepared: PreparedHooks },
): void {
  kernel.database.transaction(() => {
    for (const { name, dailyUsd, monthlyUsd, texts } of planned.projects) {
      spending.budgets.set(
        caller,
        { scope: 'project', id: name },
        { daily_usd: dailyUsd, monthly_usd: monthlyUsd },
      )
      projects.give(caller, name, texts)
    }
    agents.write.rows(caller, planned)
    prepared.write()
    for (const { agent, ...watch } of planned.watches) watches.give(caller, { agentId: agent, ...watch })
    const { name, items } = planned.plan
    const did = (action: string) => items.filter((item) => item.action === action).length
    kernel.journal.append({
      actor: actorOf(caller),
      action: 'template.applied',
      subject: name,
      detail: {
        created: did('create'),
        changed: did('change'),
        jobs: planned.jobs.map((job) => job.id),
        agents: [...planned.created, ...planned.changed].map((agent) => agent.id),
        watchers: planned.watchers.length,
      },
    })
    applications.end(id)
  })
}

function mapped<In, Out>(record: Readonly<Record<string, In>>, map: (value: In) => Out): Record<string, Out> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]))
}

function putJobs(now: readonly CronJob[], written: Readonly<Record<string, CronJob>>): readonly CronJob[] {
  const writtenJobs = new Map(Object.entries(written))
  const kept = now.map((job) => writtenJobs.get(job.id) ?? job)
  const ids = new Set(now.map(({ id }) => id))
  return [...kept, ...[...writtenJobs.values()].filter(({ id }) => !ids.has(id))]
}
