import { heartbeatApi, heartbeatEndpoints } from '@flotilla/protocol/heartbeat-api'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { aCassette, says } from '../support/cassettes.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { verifies } from '../verifies.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'
import { patient } from '../support/patience.ts'

const found = await engineOfThisMachine()
const cassette = aCassette({
  when: 'disk_usage: \\d',
  turns: [says('The disk is at {{percent}} percent.', { capture: { percent: 'disk_usage: (\\d+)' } })],
})

withEngine(
  'a heartbeat of an agent in a container',
  () => {
    let mesh: MeshProcess

    beforeAll(async () => {
      mesh = await startMesh({
        runtime: 'docker',
        cassettes: { full: cassette },
        environment: { FLOTILLA_NO_INSTALL: '1' },
        settings: { data_limit_mb: 64 },
      })
      await mesh.createWorker('clerk')
    })
    afterAll(() => mesh?.stop())

    async function beat() {
      const reply = await mesh.call(heartbeatEndpoints.heartbeatRun, {
        params: { id: 'clerk' },
        body: { if_needed: true },
        timeoutMs: patient(120_000),
      })
      return heartbeatApi.heartbeatRun.response.parse(reply.json())
    }
    /** Of the agent's own volume, as its programs see it or as the mesh counts it. */
    const keep = (megabytes: number) =>
      mesh.invoke('clerk', 'run_command', {
        command: `head -c ${megabytes}M /dev/urandom > /data/parcel; sync; df --output=pcent /data | tail -1`,
        timeout_s: 60,
      })

    it('wakes it when its own disk is above 85 percent, and not below', async () => {
      verifies('limits:disk-probe', 'events:heartbeat:probe-disk-usage')
      await keep(40)
      expect(await beat()).toEqual({ skipped: 'nothing-to-do', run: null })
      await keep(60)
      const { run } = await beat()
      expect(run?.outcome?.text).toMatch(/^The disk is at (8[6-9]|9\d|100) percent\.$/)
      await keep(1)
      expect(await beat()).toEqual({ skipped: 'nothing-to-do', run: null })
    })
  },
  found,
)
