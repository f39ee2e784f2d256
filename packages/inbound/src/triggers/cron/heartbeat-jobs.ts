import { defaultHeartbeatSchedule } from '@flotilla/protocol/heartbeat-reply'
import { operatorAgentId } from '@flotilla/protocol/ids'
import type { Kernel } from '@flotilla/identity/kernel'
import type { HeartbeatJob, HeartbeatJobs } from '../heartbeat/index.ts'
import { lockedHeartbeat } from './check-job.ts'
import type { CronFile } from './cron-file.ts'
import type { CronJob } from './cron-job.ts'
import type { JobSchedule } from './job-schedule.ts'
import { isOperatorHeartbeat, ownHeartbeat, ownHeartbeatId } from './operator-heartbeat.ts'

/** A heartbeat with its job id. */
interface HeartbeatCronJob extends HeartbeatJob {
  readonly id: string
}

/** The heartbeat jobs in `config/cron.json`. */
export interface CronHeartbeatJobs extends HeartbeatJobs {
  find(agentId: string): HeartbeatCronJob | null
  /**
   * Sets the heartbeat as the port defines. If the file cannot be written, the operator's heartbeat
   * runs from memory until the file is written.
   */
  put(job: {
    readonly agentId: string
    readonly schedule: string
    readonly enabled?: boolean
  }): Promise<HeartbeatCronJob>
  /** Writes the operator's heartbeat to the file if it exists only in memory. Never rejects. */
  writeStandIn(): Promise<void>
}

export function createHeartbeatJobs(
  deps: Pick<Kernel, 'newId' | 'clock'> & {
    readonly file: CronFile
    readonly schedule: JobSchedule
    readonly edit: CronFile['edit']
  },
): CronHeartbeatJobs {
  const { file, schedule: live, edit } = deps
  const isOf = (agentId: string) => (job: CronJob) => job.heartbeat && job.agent === agentId
  const inFile = (agentId: string) => file.jobs().find(isOf(agentId))

  function find(agentId: string): HeartbeatCronJob | null {
    const standIn = live.standIn()
    const job = inFile(agentId) ?? (standIn && isOf(agentId)(standIn) ? standIn : undefined)
    return job ? viewOf(job) : null
  }

  async function putOwn(): Promise<void> {
    const created_at = deps.clock.now()
    try {
      await edit((jobs) => {
        if (jobs.some(isOperatorHeartbeat)) return jobs
        const isTaken = jobs.some(({ id }) => id === ownHeartbeatId)
        return [...jobs, ownHeartbeat({ id: isTaken ? deps.newId('cron') : ownHeartbeatId, created_at })]
      })
    } catch (error) {
      if (!live.standIn() && !inFile(operatorAgentId)) {
        live.keepStandIn(ownHeartbeat({ id: ownHeartbeatId, created_at }))
      }
      throw error
    }
  }

  return {
    find,
    async put({ agentId, schedule, enabled }) {
      if (agentId === operatorAgentId) {
        if (schedule !== defaultHeartbeatSchedule) throw lockedHeartbeat('schedule', `${schedule} is refused`)
        if (enabled === false) throw lockedHeartbeat('enabled', 'it is always on')
        await putOwn()
      } else {
        await edit((jobs) => {
          const known = jobs.find(isOf(agentId))
          if (known) {
            const next = { ...known, schedule, enabled: enabled ?? known.enabled }
            return jobs.map((job) => (job === known ? next : job))
          }
          return [...jobs, newHeartbeat(deps, { agentId, schedule, enabled: enabled ?? true })]
        })
      }
      const made = find(agentId)
      if (!made) throw new Error('a job that was just written exists')
      return made
    },
    writeStandIn: async () => {
      if (live.standIn() && file.broken() === null) await putOwn().catch(() => {})
    },
    async remove(agentId) {
      if (agentId === operatorAgentId) throw lockedHeartbeat('heartbeat', 'it cannot be removed')
      await edit((jobs) => jobs.filter((job) => !isOf(agentId)(job)))
    },
  }
}

function newHeartbeat(
  { newId, clock }: Pick<Kernel, 'newId' | 'clock'>,
  { agentId, schedule, enabled }: HeartbeatJob,
): CronJob {
  return {
    id: newId('cron'),
    agent: agentId,
    schedule,
    timezone: 'UTC',
    enabled,
    suppress_empty: true,
    heartbeat: true,
    created_by: 'system',
    created_at: clock.now(),
  }
}

function viewOf({ id, agent, schedule, enabled }: CronJob): HeartbeatCronJob {
  return { id, agentId: agent, schedule, enabled }
}
