import { Problem } from '@flotilla/protocol/problem'
import { actorOf } from '@flotilla/identity/access'
import type { Caller } from '@flotilla/identity/access'
import type { Kernel } from '@flotilla/identity/kernel'
import type { LiveJob } from './cron-job.ts'
import type { JobSchedule } from './job-schedule.ts'

type Deciding = Pick<Kernel, 'guard' | 'decide'>

/** Returns an agent's own jobs and those that it made; all jobs for callers who may view the fleet. */
export function visibleJobs(
  { guard, decide }: Deciding,
  caller: Caller,
  all: readonly LiveJob[],
): readonly LiveJob[] {
  if (caller.kind !== 'agent') {
    guard(caller, { do: 'view-fleet' })
    return all
  }
  guard(caller, { do: 'act-for-self', agentId: caller.agentId })
  if (decide(caller, { do: 'view-fleet' }).allowed) return all
  return all.filter(({ job }) => job.agent === caller.agentId || job.created_by === actorOf(caller))
}

/** Throws unless an agent sets a job for itself or the caller may edit the agent's configuration. */
export function guardOther({ guard }: Pick<Kernel, 'guard'>, caller: Caller, agentId: string): void {
  if (caller.kind !== 'agent' || caller.agentId !== agentId)
    guard(caller, { do: 'edit-agent-config', agentId })
}

/** Returns a job that the caller may change. Throws `not-found` if the caller may not see the job. */
export function ownJob(
  { kernel, schedule }: { readonly kernel: Deciding; readonly schedule: JobSchedule },
  caller: Caller,
  jobId: string,
): LiveJob {
  const live = requireJob(schedule, jobId)
  const { job } = live
  if (caller.kind !== 'agent') {
    guardOther(kernel, caller, job.agent)
    return live
  }
  if (visibleJobs(kernel, caller, [live]).length === 0) throw unknownJob(jobId)
  if (job.agent === caller.agentId && job.created_by !== actorOf(caller)) {
    throw new Problem('denied', {
      detail: `${job.created_by} created this job for you, so you cannot change it; ask the owner`,
    })
  }
  guardOther(kernel, caller, job.agent)
  return live
}

export function requireJob(schedule: JobSchedule, jobId: string): LiveJob {
  const live = schedule.find(jobId)
  if (!live) throw unknownJob(jobId)
  return live
}

export function unknownJob(jobId: string): Problem {
  return new Problem('not-found', {
    detail: `there is no job ${jobId.slice(0, 100)}`,
    repair: 'flotilla cron list shows all jobs.',
  })
}
