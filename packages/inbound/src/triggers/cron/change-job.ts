import type { CronChange, CronSeen, NewCronJob } from '@flotilla/protocol/cron-api'
import { Problem } from '@flotilla/protocol/problem'
import { actorOf } from '@flotilla/identity/access'
import type { Caller } from '@flotilla/identity/access'
import type { Kernel } from '@flotilla/identity/kernel'
import { badField } from './check-tool.ts'
import { modeOf } from './cron-job.ts'
import type { CronJob } from './cron-job.ts'
import { withoutWords } from './read-schedule.ts'

export function newJob(
  { newId, clock }: Pick<Kernel, 'newId' | 'clock'>,
  caller: Caller,
  input: NewCronJob,
): CronJob {
  const { timezone, enabled, suppress_empty: suppressEmpty, heartbeat, message, when } = input
  return {
    id: newId('cron'),
    agent: input.agent,
    schedule: withoutWords(input.schedule),
    timezone: timezone ?? 'UTC',
    enabled: enabled ?? true,
    suppress_empty: suppressEmpty ?? true,
    heartbeat: heartbeat ?? false,
    ...(message === undefined ? {} : { message }),
    ...(input.tool_name === undefined ? {} : { tool_name: input.tool_name }),
    ...(input.tool_params === undefined ? {} : { tool_params: input.tool_params }),
    ...(when === undefined || when.trim() === '' ? {} : { when }),
    created_by: actorOf(caller),
    created_at: clock.now(),
  }
}

/**
 * Returns the changed job. The caller becomes the job's maker, whose permissions and trust the job has, if an agent
 * changes what the job does, or if a person changes that or enables the job. A person does not become the maker of a
 * heartbeat or of a job that an agent made.
 */
export function changedBy(caller: Caller, job: CronJob, change: CronChange): CronJob {
  const next = changed(job, change)
  const saysWhat = [change.message, change.tool_name, change.tool_params].some((value) => value !== undefined)
  const takesOver =
    caller.kind === 'human' && !job.heartbeat && !job.created_by.startsWith('agent:')
      ? saysWhat || change.enabled === true
      : saysWhat && caller.kind === 'agent'
  return takesOver ? { ...next, created_by: actorOf(caller) } : next
}

/** Returns the changed job. Throws Problem `bad-request` if the change would alter the mode. Pure. */
function changed(job: CronJob, change: CronChange): CronJob {
  const mode = modeOf(job)
  if (change.tool_name !== undefined && mode !== 'tool')
    throw badField('tool_name', `the mode ${mode} cannot change; remove the job and create another`)
  if (change.tool_params !== undefined && mode !== 'tool')
    throw badField('tool_params', `the mode ${mode} cannot change; remove the job and create another`)
  if (change.message !== undefined && mode === 'tool')
    throw badField('message', 'the mode tool cannot change; remove the job and create another')
  const { when, schedule, ...rest } = change
  const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined))
  const next: CronJob = {
    ...job,
    ...given,
    ...(schedule === undefined ? {} : { schedule: withoutWords(schedule) }),
  }
  if (when === undefined) return next
  const { when: _before, ...without } = next
  return when.trim() === '' ? without : { ...without, when }
}

/** Throws Problem `edit-overtaken` if the job differs from what the caller saw, to protect edits of other callers. */
export function requireSeen(
  { schedule, timezone, message = '', when = '', enabled }: CronJob,
  seen: CronSeen,
): void {
  const now = { schedule, timezone, message, when, enabled }
  const names = ['schedule', 'timezone', 'message', 'when', 'enabled'] as const
  if (names.every((name) => seen[name] === undefined || seen[name] === now[name])) return
  throw new Problem('edit-overtaken', {
    detail:
      'the job was changed by another request since you read it, so nothing was written; read the job again',
  })
}

/** Returns the name of the change in the audit log. Pure. */
export function actionOf({ enabled, ...rest }: CronChange): 'updated' | 'paused' | 'resumed' {
  if (enabled === undefined || Object.values(rest).some((value) => value !== undefined)) return 'updated'
  return enabled ? 'resumed' : 'paused'
}
