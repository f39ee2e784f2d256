import type { CronChange, CronSeen, NewCronJob } from '@flotilla/protocol/cron-api'
import { Problem } from '@flotilla/protocol/problem'
import { actorOf } from '../../access/index.ts'
import type { Caller } from '../../access/index.ts'
import type { Kernel } from '../../kernel/index.ts'
import { badField } from './check-tool.ts'
import { modeOf } from './cron-job.ts'
import type { CronJob } from './cron-job.ts'

export function newJob(
  { newId, clock }: Pick<Kernel, 'newId' | 'clock'>,
  caller: Caller,
  input: NewCronJob,
): CronJob {
  const { timezone, enabled, suppress_empty: suppressEmpty, heartbeat, message, when } = input
  return {
    id: newId('cron'),
    agent: input.agent,
    schedule: input.schedule.trim(),
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
 * An agent that says what a job does is its maker from then on: the job may no more than it, and is believed no more. So is
 * a person who says it, or switches it on, where no agent made it: they answer for it.
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

/** The job with what may change of it; its mode stays. Problem `bad-request` where the change is one of mode. Pure. */
function changed(job: CronJob, change: CronChange): CronJob {
  const mode = modeOf(job)
  if (change.tool_name !== undefined && mode !== 'tool')
    throw badField('tool_name', `the job is in ${mode} mode and stays so; remove it and make another`)
  if (change.tool_params !== undefined && mode !== 'tool')
    throw badField('tool_params', `the job is in ${mode} mode and stays so; remove it and make another`)
  if (change.message !== undefined && mode === 'tool')
    throw badField('message', 'the job is in tool mode and stays so; remove it and make another')
  const { when, schedule, ...rest } = change
  const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined))
  const next: CronJob = { ...job, ...given, ...(schedule === undefined ? {} : { schedule: schedule.trim() }) }
  if (when === undefined) return next
  const { when: _before, ...without } = next
  return when.trim() === '' ? without : { ...without, when }
}

/** What somebody looked at before they wrote; another's change since is not written over unseen. */
export function requireSeen({ schedule, message = '', when = '', enabled }: CronJob, seen: CronSeen): void {
  const now = { schedule, message, when, enabled }
  const names = ['schedule', 'message', 'when', 'enabled'] as const
  if (names.every((name) => seen[name] === undefined || seen[name] === now[name])) return
  throw new Problem('edit-overtaken', {
    detail: 'the job was changed by somebody else since it was looked at, and nothing was written over it',
  })
}

/** What the change is called in the journal. Pure. */
export function actionOf({ enabled, ...rest }: CronChange): 'updated' | 'paused' | 'resumed' {
  if (enabled === undefined || Object.values(rest).some((value) => value !== undefined)) return 'updated'
  return enabled ? 'resumed' : 'paused'
}
