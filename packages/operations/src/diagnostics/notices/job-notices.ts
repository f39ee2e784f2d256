import type { CronJobView } from '@flotilla/protocol/cron-api'
import { unknownAgent } from './setting-notices.ts'

/** What the notices need to know of a job. */
export type NoticedJob = Pick<CronJobView, 'id' | 'agent' | 'enabled' | 'next_run' | 'schedule' | 'note'>

/** One sentence for each enabled cron job that never fires as things are now, with its repair. Pure. */
export function jobNotices(
  jobs: readonly NoticedJob[],
  known: { readonly agents: readonly string[]; readonly archived: readonly string[] },
): readonly string[] {
  return jobs.flatMap((job) => (job.enabled ? oneJob(job, known) : []))
}

function oneJob(
  { id, agent, next_run: nextRun, schedule, note }: NoticedJob,
  { agents, archived }: Parameters<typeof jobNotices>[1],
): readonly string[] {
  const field = `cron job ${id}`
  if (!agents.includes(agent)) return [unknownAgent(field, agent, agents)]
  if (archived.includes(agent)) {
    return [`${field}: ${agent} is archived, so it never fires; restore the agent or remove the job`]
  }
  if (note.includes('cannot be parsed')) return [`${field}: ${note}`]
  return nextRun === null ? [`${field}: no coming time fits its schedule "${schedule}"; change it`] : []
}
