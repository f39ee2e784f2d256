import { defaultHeartbeatSchedule } from '@flotilla/protocol/heartbeat-reply'
import type { CronFile } from './cron-file.ts'
import { isOperatorHeartbeat } from './cron-job.ts'
import type { CronJob } from './cron-job.ts'
import type { CronWorld } from './cron-world.ts'
import type { JobBoard } from './job-board.ts'
import { lockedHeartbeat } from './manage-cron.ts'

/** An agent's heartbeat, as the room of heartbeats asks for it. */
export interface HeartbeatJob {
  readonly id: string
  readonly agentId: string
  readonly schedule: string
  readonly enabled: boolean
}

/** The heartbeat jobs in `config/cron.json`; one for each agent at most. */
export interface HeartbeatJobs {
  find(agentId: string): HeartbeatJob | null
  /** Makes it, or changes the one that is there. The operator's is every 15m; Problem `bad-request` for another. */
  put(job: {
    readonly agentId: string
    readonly schedule: string
    readonly enabled?: boolean
  }): Promise<HeartbeatJob>
  /** Problem `bad-request` for the operator's. Nothing where there is none. */
  remove(agentId: string): Promise<void>
}

export function createHeartbeatJobs(deps: {
  readonly world: Pick<CronWorld, 'newId' | 'clock'>
  readonly file: CronFile
  readonly board: JobBoard
}): HeartbeatJobs {
  const { world, file, board } = deps
  const isOf = (agentId: string) => (job: CronJob) => job.heartbeat && job.agent === agentId

  function find(agentId: string): HeartbeatJob | null {
    const job = file.jobs().find(isOf(agentId))
    return job ? viewOf(job) : null
  }

  async function write(change: (jobs: readonly CronJob[]) => readonly CronJob[]): Promise<void> {
    await file.edit(change)
    board.adopt(file.jobs())
  }

  return {
    find,
    async put({ agentId, schedule, enabled }) {
      if (isOperatorHeartbeat({ agent: agentId, heartbeat: true }) && schedule !== defaultHeartbeatSchedule)
        throw lockedHeartbeat(`${schedule} is refused`)
      await write((jobs) => {
        const known = jobs.find(isOf(agentId))
        if (known) {
          const next = { ...known, schedule, enabled: enabled ?? known.enabled }
          return jobs.map((job) => (job === known ? next : job))
        }
        return [
          ...jobs,
          {
            id: world.newId('cron'),
            agent: agentId,
            schedule,
            timezone: 'UTC',
            enabled: enabled ?? true,
            suppress_empty: true,
            heartbeat: true,
            created_by: 'system',
            created_at: world.clock.now(),
          },
        ]
      })
      const made = find(agentId)
      if (!made) throw new Error('a job that was just written is there')
      return made
    },
    async remove(agentId) {
      if (isOperatorHeartbeat({ agent: agentId, heartbeat: true }))
        throw lockedHeartbeat('it cannot be removed')
      await write((jobs) => jobs.filter((job) => !isOf(agentId)(job)))
    },
  }
}

function viewOf({ id, agent, schedule, enabled }: CronJob): HeartbeatJob {
  return { id, agentId: agent, schedule, enabled }
}
