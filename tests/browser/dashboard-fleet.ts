import { controlEndpoints } from '@flotilla/protocol/control-api'
import { cronHumanEndpoints } from '@flotilla/protocol/cron-api'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { dashboardCassette } from './dashboard-cassette.ts'

/** Starts a mesh with a few agents. */
export async function startDashboardFleet(): Promise<MeshProcess> {
  const mesh = await startMesh({ cassettes: { dashboard: dashboardCassette } })
  await mesh.createWorker('scribe', { role: 'Reads licences of packages and says which ones need a look.' })
  await mesh.createWorker('tryout', { role: 'Sorted the archive of last year, for a try.' })
  await mesh.createWorker('courier', { role: 'Carries reports to whoever asked for them.' })
  await mesh.call(cronHumanEndpoints.cronCreate, {
    body: { agent: 'courier', schedule: '0 9 * * *', message: 'Send the morning report.' },
  })
  return mesh
}

export async function pendingIds(mesh: MeshProcess): Promise<readonly string[]> {
  const reply = await mesh.call(controlEndpoints.pending)
  return (reply.json()['pending'] as { id: string }[]).map(({ id }) => id)
}
