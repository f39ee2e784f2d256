import { defaultHeartbeatSchedule } from '@flotilla/protocol/heartbeat-reply'
import { operatorAgentId } from '@flotilla/protocol/ids'
import type { CronFile } from './cron-file.ts'
import type { CronJob } from './cron-job.ts'
import type { CronWorld } from './cron-world.ts'
import type { JobBoard } from './job-board.ts'
import { lockedHeartbeat } from './manage-cron.ts'
import { isOperatorHeartbeat, ownHeartbeat, ownHeartbeatId } from './operator-heartbeat.ts'

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
  /**
   * Makes it, or changes the one that is there. The operator's is every 15m and on; Problem `bad-request` for another.
   * Where the file cannot be written, the operator's comes all the same, and is written once that can be.
   */
  put(job: {
    readonly agentId: string
    readonly schedule: string
    readonly enabled?: boolean
  }): Promise<HeartbeatJob>
  /** Problem `bad-request` for the operator's. Nothing where there is none. */
  remove(agentId: string): Promise<void>
  /** Writes the operator's into the file where only the mesh has it. Never rejects. */
  writeStandIn(): Promise<void>
}

export function createHeartbeatJobs(deps: {
  readonly world: Pick<CronWorld, 'newId' | 'clock'>
  readonly file: CronFile
  readonly board: JobBoard
}): HeartbeatJobs {
  const { world, file, board } = deps
  const isOf = (agentId: string) => (job: CronJob) => job.heartbeat && job.agent === agentId

  const inFile = (agentId: string) => file.jobs().find(isOf(agentId))

  function find(agentId: string): HeartbeatJob | null {
    const standIn = board.standIn()
    const job = inFile(agentId) ?? (standIn && isOf(agentId)(standIn) ? standIn : undefined)
    return job ? viewOf(job) : null
  }

  async function write(change: (jobs: readonly CronJob[]) => readonly CronJob[]): Promise<void> {
    await file.edit(change)
    board.adopt(file.jobs())
  }

  async function putOwn(): Promise<void> {
    const created_at = world.clock.now()
    try {
      await write((jobs) => {
        if (jobs.some(isOperatorHeartbeat)) return jobs
        const isTaken = jobs.some(({ id }) => id === ownHeartbeatId)
        return [...jobs, ownHeartbeat({ id: isTaken ? world.newId('cron') : ownHeartbeatId, created_at })]
      })
    } catch (error) {
      if (!board.standIn() && !inFile(operatorAgentId)) {
        board.keepStandIn(ownHeartbeat({ id: ownHeartbeatId, created_at }))
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
        await write((jobs) => {
          const known = jobs.find(isOf(agentId))
          if (known) {
            const next = { ...known, schedule, enabled: enabled ?? known.enabled }
            return jobs.map((job) => (job === known ? next : job))
          }
          return [...jobs, newHeartbeat(world, { agentId, schedule, enabled: enabled ?? true })]
        })
      }
      const made = find(agentId)
      if (!made) throw new Error('a job that was just written is there')
      return made
    },
    writeStandIn: async () => {
      if (board.standIn() && file.broken() === null) await putOwn().catch(() => {})
    },
    async remove(agentId) {
      if (agentId === operatorAgentId) throw lockedHeartbeat('heartbeat', 'it cannot be removed')
      await write((jobs) => jobs.filter((job) => !isOf(agentId)(job)))
    },
  }
}

function newHeartbeat(
  { newId, clock }: Pick<CronWorld, 'newId' | 'clock'>,
  { agentId, schedule, enabled }: Omit<HeartbeatJob, 'id'>,
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

function viewOf({ id, agent, schedule, enabled }: CronJob): HeartbeatJob {
  return { id, agentId: agent, schedule, enabled }
}
