import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { sandboxName } from '../../packages/fleet/src/sandbox/sandbox-spec.ts'
import { aCanaryDay, decoy, startCanaryMesh } from '../support/canary-day.ts'
import type { CanaryDay } from '../support/canary-day.ts'
import { createCanaryHunt } from '../support/canary-hunt.ts'
import type { CanaryHunt, Finding } from '../support/canary-hunt.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { memoryOf } from '../support/process-memory.ts'
import { verifies } from '../verifies.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()
const agents = ['operator', 'clerk', 'thinker', 'player'] as const
/** Folders that the container's user can write, or into which the mesh puts files. */
const folders = ['/data', '/briefing', '/home', '/var', '/run', '/etc', '/opt'] as const

withEngine(
  'credentials in containers',
  (engine) => {
    let day: CanaryDay
    let mesh: MeshProcess
    let homeId: string
    const container = (agent: string) => engine.docker.getContainer(sandboxName(homeId, agent))

    beforeAll(async () => {
      day = await aCanaryDay({ isolated: true })
      mesh = await startCanaryMesh(day, 'docker')
      homeId = (await readFile(join(mesh.home, 'data', 'home-id'), 'utf8')).trim()
      await day.work(mesh)
    })
    afterAll(async () => {
      await mesh?.stop()
      await day?.close()
    })

    /**
     * Searches the container's settings, log and files, and the start environment and memory of each of its
     * processes.
     */
    async function searchContainer(hunt: CanaryHunt, agent: string): Promise<void> {
      const one = container(agent)
      hunt.search(`${agent}: settings`, JSON.stringify(await one.inspect()))
      hunt.search(`${agent}: log`, await one.logs({ stdout: true, stderr: true, follow: false }))
      for (const folder of folders) {
        const archive = await one.getArchive({ path: folder }).catch(() => null)
        const pieces: Buffer[] = []
        if (archive) for await (const piece of archive) pieces.push(Buffer.from(piece))
        hunt.search(`${agent}: ${folder}`, Buffer.concat(pieces))
      }
      const top = await one.top({ ps_args: '-eo pid' })
      for (const [pid = ''] of top.Processes as string[][]) {
        for (const name of ['environ', 'cmdline'])
          hunt.search(`${agent}: ${name}`, await readFile(`/proc/${pid}/${name}`))
        hunt.search(`${agent}: memory`, await memoryOf(pid))
      }
    }

    it('no canary of either tier is in the environment, files, log or memory of any container', async () => {
      verifies('authentication:credentials:system-never', 'authentication:zone-1:no-llm-keys')
      const control = { name: 'decoy', value: decoy }
      const hunt = createCanaryHunt([...day.canaries, control])
      for (const agent of agents) {
        // Starts the agent, which does not run if it had no work since the mesh was restarted.
        await mesh.invoke(agent, 'vault_list', {})
        await searchContainer(hunt, agent)
      }
      const ofControl = (one: Finding) => one.canary === control.name
      expect(hunt.findings().filter((one) => !ofControl(one))).toEqual([])
      // The decoys that came back beside the canaries are found, so the search sees files and memory.
      const seen = hunt
        .findings()
        .filter(ofControl)
        .map(({ place }) => place)
      expect(seen).toEqual(expect.arrayContaining(['clerk: /data', 'clerk: memory']))
    })

    it('no canary is in the home of the mesh but for its environment file', async () => {
      verifies('authentication:credentials:handles-only')
      const hunt = createCanaryHunt(day.canaries)
      hunt.search('what the mesh printed', mesh.log())
      await hunt.searchFolder(mesh.home, [join(mesh.home, '.env')])
      expect(hunt.searchDatabase(join(mesh.home, 'data', 'mesh.db'))).toBeGreaterThan(50)
      expect(hunt.findings()).toEqual([])
    })
  },
  found,
)
