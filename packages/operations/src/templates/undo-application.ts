import { isDeepStrictEqual } from 'node:util'
import { Problem } from '@flotilla/protocol/problem'
import type { PermissionStore } from '@flotilla/identity/access'
import { agentSettingEdits, agentSettingsOf } from '@flotilla/foundation/config'
import type { SettingsFile } from '@flotilla/foundation/config'
import { cronJobSchema } from '@flotilla/inbound/triggers/cron'
import type { CronJob, CronJobs } from '@flotilla/inbound/triggers/cron'
import { watchName } from '@flotilla/inbound/triggers/watch'
import type { FileWatches } from '@flotilla/inbound/triggers/watch'
import type { ApplicationTable, ApplicationUndo } from './application-table.ts'

/** A file that still contains what a template wrote. */
export interface NotUndone {
  readonly file: string
  /** The agents, jobs or watchers that were not restored. */
  readonly what: readonly string[]
  readonly error: unknown
}

/**
 * Restores the files that an application wrote, where they still contain it; edits by hand are kept. A file that
 * cannot be written does not block the others. The row stays until all are restored, and the next start retries.
 */
export type UndoApplication = (application: {
  readonly id: string
  readonly undo: ApplicationUndo
}) => Promise<readonly NotUndone[]>

export function createUndoApplication(deps: {
  readonly permissions: Pick<PermissionStore, 'edit'>
  readonly jobs: Pick<CronJobs, 'edit'>
  readonly fileWatches: Pick<FileWatches, 'takeBack'>
  readonly settingsFile: Pick<SettingsFile, 'editAll'>
  readonly applications: Pick<ApplicationTable, 'end'>
}): UndoApplication {
  return async ({ id, undo }) => {
    const { permissions, jobs, watchers, settings } = undo
    const steps = [
      {
        file: 'config/permissions.json',
        what: Object.keys(permissions),
        put: () => putPermissions(deps, undo),
      },
      { file: 'config/cron.json', what: Object.keys(jobs), put: () => putJobs(deps, undo) },
      { file: 'config/settings.json', what: Object.keys(settings), put: () => putSettings(deps, undo) },
      {
        file: 'config/watchers.yaml',
        what: (watchers?.changes ?? []).flatMap(({ after }) => (after ? [watchName(after)] : [])),
        put: async () => (watchers ? deps.fileWatches.takeBack(watchers) : undefined),
      },
    ]
    const left: NotUndone[] = []
    for (const { file, what, put } of steps) {
      if (what.length === 0) continue
      try {
        await put()
      } catch (error) {
        left.push({ file, what, error })
      }
    }
    if (left.length === 0) deps.applications.end(id)
    return left
  }
}

async function putPermissions(
  { permissions }: { readonly permissions: Pick<PermissionStore, 'edit'> },
  undo: ApplicationUndo,
): Promise<void> {
  await permissions.edit((now) => {
    const next = { ...now }
    for (const [agentId, { before, after }] of Object.entries(undo.permissions)) {
      if (!isDeepStrictEqual(now[agentId], after)) continue
      if (before === null) delete next[agentId]
      else next[agentId] = before
    }
    return next
  }, 'template')
}

async function putJobs(
  { jobs }: { readonly jobs: Pick<CronJobs, 'edit'> },
  undo: ApplicationUndo,
): Promise<void> {
  await jobs.edit((now) => {
    const ours = now.filter((job) => isDeepStrictEqual(plain(job), undo.jobs[job.id]?.after))
    if (ours.length === 0) return now
    const back = ours.flatMap((job) => undo.jobs[job.id]?.before ?? [])
    return [...now.filter((job) => !ours.includes(job)), ...back]
  })
}

async function putSettings(
  { settingsFile }: { readonly settingsFile: Pick<SettingsFile, 'editAll'> },
  undo: ApplicationUndo,
): Promise<void> {
  await settingsFile.editAll((now) =>
    Object.entries(undo.settings).flatMap(([agentId, { before, after }]) => {
      const currentFields = Object.entries(agentSettingsOf(now, agentId))
      const wrote = Object.entries(after)
      const ours = wrote.filter((field) => currentFields.some((one) => isDeepStrictEqual(one, field)))
      return agentSettingEdits(
        agentId,
        ours.map(([name]) => name),
        before,
      )
    }),
  )
}

/** A job as JSON, without undefined fields. */
export function plain(job: CronJob): CronJob {
  return cronJobSchema.parse(
    Object.fromEntries(Object.entries(job).filter(([, value]) => value !== undefined)),
  )
}

/** Describes for people what was not restored, and why. Pure. */
export function notUndoneWords(left: readonly NotUndone[]): string {
  return left
    .map(({ file, what, error }) => {
      const why =
        error instanceof Problem ? error.detail : 'the file cannot be written; see the log of the mesh'
      return `${file} still contains what the template wrote for ${what.join(', ')} (${why})`
    })
    .join('; ')
}

export const notUndoneRepair =
  'Correct the named file by hand until it can be read and written, then restart the mesh, which undoes the rest. Later edits by hand are kept.'

/** The problem for an application that failed with `error` and could not be restored completely. Pure. */
export function brokenOff(error: unknown, left: readonly NotUndone[]): Problem {
  const [code, why] =
    error instanceof Problem
      ? ([error.code, error.detail] as const)
      : (['internal-error', 'internal error; see the log of the mesh'] as const)
  return new Problem(code, {
    detail: `${why}. Not all could be undone: ${notUndoneWords(left)}`,
    repair: notUndoneRepair,
    cause: error,
  })
}
