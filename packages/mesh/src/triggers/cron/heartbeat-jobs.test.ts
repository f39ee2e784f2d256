import { writeFile } from 'node:fs/promises'
import { describe } from 'vitest'
import { heartbeatJobsConformance } from '../heartbeat/heartbeat-jobs.conformance.ts'
import { play } from '../../testing/cron-harness.ts'

describe('heartbeats on the board of jobs', () => {
  heartbeatJobsConformance(async () => {
    const { cron, world } = await play()
    return {
      jobs: cron.heartbeatJobs,
      spoil: async () => {
        await writeFile(world.path, '{ "jobs": [')
        await cron.tick()
      },
    }
  })
})
