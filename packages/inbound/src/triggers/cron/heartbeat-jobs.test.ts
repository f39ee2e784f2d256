import { writeFile } from 'node:fs/promises'
import { describe } from 'vitest'
import { heartbeatJobsConformance } from '../heartbeat/heartbeat-jobs.conformance.ts'
import { startCron } from '../../../../testing/src/cron-harness.ts'

describe('heartbeats among the jobs', () => {
  heartbeatJobsConformance(async () => {
    const { cron, path } = await startCron()
    return {
      jobs: cron.heartbeatJobs,
      spoil: async () => {
        await writeFile(path, '{ "jobs": [')
        await cron.tick()
      },
    }
  })
})
