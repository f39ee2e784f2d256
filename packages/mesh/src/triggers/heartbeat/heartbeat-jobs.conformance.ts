import { expect, test } from 'vitest'
import type { HeartbeatJobs } from './heartbeat-jobs.ts'

/** What every keeper of heartbeats does. */
export function heartbeatJobsConformance(make: () => HeartbeatJobs | Promise<HeartbeatJobs>): void {
  const job = { agentId: 'agent', schedule: 'every 15m', enabled: true }

  test('a job is found as it was put, and the newer replaces the older (J1)', async () => {
    const jobs = await make()
    expect(await jobs.find('agent')).toBeNull()
    await jobs.put(job)
    expect(await jobs.find('agent')).toMatchObject(job)
    await jobs.put({ ...job, schedule: 'every 2h', enabled: false })
    expect(await jobs.find('agent')).toMatchObject({ ...job, schedule: 'every 2h', enabled: false })
  })

  test('a job is removed once and again (J2)', async () => {
    const jobs = await make()
    await jobs.put(job)
    await jobs.remove('agent')
    await jobs.remove('agent')
    expect(await jobs.find('agent')).toBeNull()
  })

  test('ids count whole (J3)', async () => {
    const jobs = await make()
    await jobs.put({ ...job, agentId: 'agent2' })
    expect(await jobs.find('agent')).toBeNull()
    await jobs.put(job)
    await jobs.remove('agent')
    expect(await jobs.find('agent2')).toMatchObject({ ...job, agentId: 'agent2' })
  })
}
