import { operatorAgentId } from '@flotilla/protocol/ids'
import { expect, test } from 'vitest'
import type { HeartbeatJobs } from './heartbeat-jobs.ts'

export interface HeartbeatJobsUnderTest {
  readonly jobs: HeartbeatJobs
  /** Corrupts the stored jobs, as an interrupted write of the file would do. */
  spoil(): Promise<void>
}

/** The tests that every implementation of the port must pass. */
export function heartbeatJobsConformance(
  make: () => HeartbeatJobsUnderTest | Promise<HeartbeatJobsUnderTest>,
): void {
  const job = { agentId: 'agent', schedule: 'every 15m', enabled: true }
  const own = { agentId: operatorAgentId, schedule: 'every 15m', enabled: true }

  test('a job is found as it was put, and a newer one replaces it (J1)', async () => {
    const { jobs } = await make()
    expect(await jobs.find('agent')).toBeNull()
    await jobs.put(job)
    expect(await jobs.find('agent')).toMatchObject(job)
    await jobs.put({ ...job, schedule: 'every 2h', enabled: false })
    expect(await jobs.find('agent')).toMatchObject({ ...job, schedule: 'every 2h', enabled: false })
  })

  test('a job can be removed twice (J2)', async () => {
    const { jobs } = await make()
    await jobs.put(job)
    await jobs.remove('agent')
    await jobs.remove('agent')
    expect(await jobs.find('agent')).toBeNull()
  })

  test('agent ids are compared in full (J3)', async () => {
    const { jobs } = await make()
    await jobs.put({ ...job, agentId: 'agent2' })
    expect(await jobs.find('agent')).toBeNull()
    await jobs.put(job)
    await jobs.remove('agent')
    expect(await jobs.find('agent2')).toMatchObject({ ...job, agentId: 'agent2' })
  })

  test.each([
    { ...own, schedule: 'every 7d' },
    { ...own, enabled: false },
    { ...own, schedule: '0 0 1 1 *', enabled: false },
  ])("the operator's heartbeat is fixed, and %j is rejected (J4)", async (other) => {
    const { jobs } = await make()
    await expect(jobs.put(other)).rejects.toMatchObject({ code: 'bad-request' })
    expect(await jobs.find(operatorAgentId)).toBeNull()
    await jobs.put(own)
    await expect(jobs.put(other)).rejects.toMatchObject({ code: 'bad-request' })
    expect(await jobs.find(operatorAgentId)).toMatchObject(own)
  })

  test("the operator's heartbeat cannot be removed, whether it exists or not (J4)", async () => {
    const { jobs } = await make()
    await expect(jobs.remove(operatorAgentId)).rejects.toMatchObject({ code: 'bad-request' })
    await jobs.put(own)
    await expect(jobs.remove(operatorAgentId)).rejects.toMatchObject({ code: 'bad-request' })
    expect(await jobs.find(operatorAgentId)).toMatchObject(own)
  })

  test('corrupt stored jobs are not overwritten, and the previous jobs stay in force (J5)', async () => {
    const { jobs, spoil } = await make()
    await jobs.put(job)
    await jobs.put(own)
    await spoil()
    const refused = { code: 'unprocessable' }
    await expect(jobs.put({ ...job, schedule: 'every 2h' })).rejects.toMatchObject(refused)
    await expect(jobs.put({ ...job, agentId: 'new' })).rejects.toMatchObject(refused)
    await expect(jobs.remove('agent')).rejects.toMatchObject(refused)
    expect(await jobs.find('agent')).toMatchObject(job)
    expect(await jobs.find(operatorAgentId)).toMatchObject(own)
    expect(await jobs.find('new')).toBeNull()
  })
}
