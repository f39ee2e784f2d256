import type { Agents } from '@flotilla/fleet/agents'
import type { Notes } from '@flotilla/collaboration/notes'
import type { FileEditor } from '@flotilla/foundation/config'
import { reasonToPause } from '@flotilla/work/events'
import type { MeshModule } from '@flotilla/identity/kernel'
import type { Runs } from '@flotilla/work/runs'
import { conditionHolds, parseCondition } from '../conditions/index.ts'
import { cronAgentRoutes } from './agent.routes.ts'
import type { FireHeartbeat } from './cron-deps.ts'
import { createCronJobs } from './cron-jobs.ts'
import type { CronJobs } from './cron-jobs.ts'
import { createCron } from './cron.ts'
import type { ManageCron } from './manage-cron.ts'
import { cronPeopleRoutes } from './people.routes.ts'
import { switchOffJobsOf, switchOffJobsOfNobody } from './person-left.ts'
import type { WorkKernel } from '@flotilla/work/events'

export { readJobs } from './cron-file.ts'
export { cronJobSchema } from './cron-job.ts'
export type { CronJob } from './cron-job.ts'
export type { CronJobs } from './cron-jobs.ts'

/**
 * The time limit for starting an agent and listing its tools when a job that calls a tool is created, in
 * milliseconds. The caller who creates the job waits for it.
 */
const toolsDeadlineMs = 60_000

/** Opens the jobs before any of them fires. The heartbeat module schedules its jobs here and fires them. */
export async function openCronJobs(
  kernel: WorkKernel,
  needs: { readonly path: string; readonly editor: FileEditor },
): Promise<CronJobs> {
  const jobs = await createCronJobs({
    ...kernel,
    ...needs,
    readCondition: (text) => {
      const condition = parseCondition(text)
      return (payload) => conditionHolds(condition, payload)
    },
  })
  kernel.fleetEvents.agentLeaving.subscribe(jobs.file.requireWhole)
  kernel.fleetEvents.agentFilesDropped.subscribe(jobs.forget)
  kernel.identityEvents.personLeft.subscribe((name) => switchOffJobsOf(kernel, jobs, name))
  return jobs
}

export interface CronApi extends ManageCron, Pick<CronJobs, 'broken' | 'heartbeatJobs'> {}

/** The cron module. */
export function cronModule(
  kernel: WorkKernel,
  needs: {
    readonly jobs: CronJobs
    readonly heartbeats: { readonly fire: FireHeartbeat }
    readonly runs: Pick<Runs, 'queue' | 'queries'>
    readonly agents: Pick<Agents, 'registry' | 'connection'>
    readonly notes: Pick<Notes, 'notifyOwner'>
  },
): MeshModule<CronApi> {
  const { agents, jobs, notes } = needs
  const cron = createCron(
    {
      kernel,
      runs: { ...needs.runs.queue, ...needs.runs.queries },
      agents: {
        requireWorking: (agentId) => agents.registry.requireWorking(agentId),
        toolsOf: async (agentId, signal) => {
          const bounded = AbortSignal.any([signal, AbortSignal.timeout(toolsDeadlineMs)])
          return (await agents.connection.reach(agentId, bounded)).tools(bounded)
        },
      },
      fireHeartbeat: needs.heartbeats.fire,
      pausedReason: (agentId) => reasonToPause(kernel.workEvents, agentId),
      note: (agentId, message, idempotencyKey) =>
        void notes.notifyOwner(
          { kind: 'agent', agentId, token: 'door', run: null },
          { message, idempotencyKey },
        ),
    },
    jobs,
  )
  kernel.workEvents.runSettled.subscribe(cron.runSettled)
  return {
    api: { ...cron, broken: jobs.broken, heartbeatJobs: jobs.heartbeatJobs },
    routes: {
      people: (surface) => cronPeopleRoutes(surface, cron),
      agent: (surface) => cronAgentRoutes(surface, cron),
    },
    start: async () => {
      try {
        await switchOffJobsOfNobody(kernel, jobs)
      } catch (error) {
        kernel.log.error({ err: error }, 'failed to disable the jobs of removed people; none of them fires')
      }
    },
    run: cron.run,
  }
}
