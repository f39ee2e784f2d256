import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { meshHumanApi, meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { describe, expect, it, onTestFinished } from 'vitest'
import { labelKeys } from '../../packages/fleet/src/sandbox/hardening/container-options.ts'
import { homeTag, sandboxName } from '../../packages/fleet/src/sandbox/sandbox-spec.ts'
import { aCassette, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { flotillaWith } from '../support/flotilla-command.ts'
import { freePort } from '../../bench/free-port.ts'
import { openLedger } from '../support/ledger-view.ts'
import { startMeshForTest } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { patient } from '../support/patience.ts'
import { verifies } from '../verifies.ts'
import { imageCaches } from './image-caches.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'

const isSoak = process.env['FLOTILLA_SOAK'] === '1'
/** Emulation boots a kernel for each start, and building a missing image takes minutes. */
const slowMs = patient(1_800_000)
const found = await engineOfThisMachine()
const cassettes = { machines: aCassette({ when: '.', turns: [says('Here.')] }) }

async function homeIdOf(mesh: MeshProcess): Promise<string> {
  return (await readFile(join(mesh.home, 'data', 'home-id'), 'utf8')).trim()
}

async function statusOf(mesh: MeshProcess) {
  return meshHumanApi.status.response.parse((await mesh.call(meshHumanEndpoints.status)).json())
}

const agentOf = async (mesh: MeshProcess, id: string) =>
  (await statusOf(mesh)).agents.find((agent) => agent.id === id)

withEngine(
  'a fleet that wishes for machines',
  (engine) => {
    /** Returns caches like those of this machine, but without space for the images of virtual machines. */
    async function cachesWithoutMachines(): Promise<string> {
      const caches = await mkdtemp(join(tmpdir(), 'flotilla-caches-'))
      onTestFinished(() => rm(caches, { recursive: true, force: true }))
      const [images, all] = [join(caches, 'flotilla', 'images'), dirname(imageCaches)]
      await mkdir(images, { recursive: true })
      for (const name of await readdir(all))
        if (name !== 'images') await symlink(join(all, name), join(caches, 'flotilla', name))
      for (const name of await readdir(imageCaches))
        if (name !== 'machines') await symlink(join(imageCaches, name), join(images, name))
      await writeFile(join(images, 'machines'), 'no folder')
      return caches
    }

    it('a fleet that asks for virtual machines is started by a word, and without it runs in containers', async () => {
      verifies('purpose:backend:two', 'purpose:backend:container-default', 'purpose:backend:microvm-opt-in')
      const home = await mkdtemp(join(tmpdir(), 'flotilla-sandbox-'))
      onTestFinished(() => rm(home, { recursive: true, force: true }))
      const environment = {
        XDG_CACHE_HOME: await cachesWithoutMachines(),
        FLOTILLA_DEFAULT_MODEL: 'openai/none',
        FLOTILLA_SYSTEM_OPENAI_API_KEY: 'sk-none',
      }
      const flotilla = (...words: readonly string[]) => flotillaWith({ home, environment }, ...words)
      const port = String(await freePort())
      onTestFinished(async () => {
        await flotilla('stop')
        await flotilla('reset', '--yes')
      })
      const started = await flotilla('start', '-d', '--port', port)
      expect(started.code, started.err).toBe(0)
      const plain = await flotilla('status', '--json')
      expect(JSON.parse(plain.out)).toMatchObject({
        runtime: { kind: 'docker', isolation: { wanted: 'container' } },
      })
      expect((await flotilla('stop')).code).toBe(0)
      const sandboxed = await flotilla('start', '-d', '--port', port, '--sandbox')
      expect(sandboxed.code, sandboxed.err).toBe(0)
      expect(sandboxed.out).toContain(
        'Agents run in a container instead of microvm: microvm is not available: ',
      )
      const status = await flotilla('status')
      expect(status.out).toContain('microvm is not available: ')
      expect((await flotilla('doctor')).out).toContain('microvm')
      const both = await flotilla('start', '--sandbox', '--isolation', 'gvisor')
      expect(both.code).toBe(2)
    })

    it('a fleet that asks for virtual machines runs in containers where none can be had, and says why wherever one looks', async () => {
      verifies('purpose:backend:falls-back', 'purpose:backend:fallback-logged')
      const mesh = await startMeshForTest({
        runtime: 'docker',
        cassettes,
        environment: { FLOTILLA_ISOLATION: 'microvm', XDG_CACHE_HOME: await cachesWithoutMachines() },
        settings: { agents: { strict: { isolation: 'microvm', isolation_mode: 'required' } } },
      })
      await mesh.createWorker('scout')
      expect(await mesh.ask('hello', { agent: 'scout' })).toMatchObject({ state: 'done' })
      const why = expect.stringContaining('microvm is not available: ') as string
      expect((await agentOf(mesh, 'scout'))?.isolation).toEqual({
        wanted: 'microvm',
        required: 'container',
        runs_on: 'container',
        fallback: why,
      })
      const { rungs } = (await statusOf(mesh)).runtime.isolation
      expect(rungs.find(({ rung }) => rung === 'microvm')).toMatchObject({ available: false })
      expect(mesh.log()).toContain('an isolation level is unavailable')
      const ready = mesh.told().find((line) => Array.isArray(line['notices']))
      expect(JSON.stringify(ready)).toContain('Agents run in a container instead of microvm')
      // An agent that requires a virtual machine is not run in a container.
      await mesh.createWorker('strict')
      const refused = await mesh.ask('hello', { agent: 'strict' })
      expect(refused).toMatchObject({ state: 'failed' })
      expect(JSON.stringify(refused.outcome)).toContain('microvm is required')
    })

    describe.runIf(isSoak)('in the soak tests, where they can be had', () => {
      it(
        'a fleet with virtual machines works in them, over kills of the mesh and of QEMU, and keeps what agents keep',
        { timeout: slowMs },
        async () => {
          const mesh = await startMeshForTest({
            runtime: 'docker',
            cassettes,
            environment: { FLOTILLA_ISOLATION: 'microvm' },
          })
          const homeId = await homeIdOf(mesh)
          const container = (agent: string) => engine.docker.getContainer(sandboxName(homeId, agent))
          await mesh.createWorker('scout')
          expect(await mesh.ask('hello', { agent: 'scout' })).toMatchObject({ state: 'done' })
          expect((await agentOf(mesh, 'scout'))?.isolation).toMatchObject({
            runs_on: 'microvm',
            fallback: null,
          })
          const kernel = await mesh.invoke('scout', 'run_command', {
            command: 'grep " / " /proc/mounts; echo kept > /data/note; sync',
          })
          expect(JSON.stringify(kernel.outcome)).toContain('/dev/vda / ext4 ro')

          // After the mesh is killed the machine continues to run, and the next mesh adopts it.
          const { Id } = await container('scout').inspect()
          await mesh.kill9()
          await mesh.restart()
          expect(await mesh.ask('hello', { agent: 'scout' })).toMatchObject({ state: 'done' })
          expect((await container('scout').inspect()).Id).toBe(Id)
          expect((await agentOf(mesh, 'scout'))?.isolation).toMatchObject({ runs_on: 'microvm' })

          // After QEMU is killed, the mesh reports the end of the agent, and the next run finds the stored data.
          await killQemu(container('scout'))
          await eventually('the end of QEMU is told', () => diedOf(mesh, 'scout') > 0)
          const read = await mesh.invoke('scout', 'run_command', { command: 'cat /data/note' })
          expect(JSON.stringify(read.outcome)).toContain('kept')

          // A restart ends the machine and keeps the data.
          await mesh.call(meshHumanEndpoints.agentRestart, { params: { id: 'scout' } })
          const again = await mesh.invoke('scout', 'run_command', { command: 'cat /data/note' })
          expect(JSON.stringify(again.outcome)).toContain('kept')

          const label = [`${labelKeys.home}=${homeTag(homeId)}`]
          await mesh.terminate()
          const left = await engine.docker.listContainers({ filters: { label } })
          expect(left).toEqual([])
        },
      )
    })
  },
  found,
)

function diedOf(mesh: MeshProcess, agentId: string): number {
  const ledger = openLedger(mesh.home)
  const rows = ledger.rows(`SELECT 1 FROM journal WHERE action = 'agent.died' AND subject = '${agentId}'`)
  ledger.close()
  return rows.length
}

async function killQemu(container: {
  top(): Promise<{ Titles: string[]; Processes: string[][] }>
}): Promise<void> {
  const { Titles, Processes } = await container.top()
  const row = Processes.find((one) => one[Titles.indexOf('CMD')]?.startsWith('qemu-system'))
  process.kill(Number(row?.[Titles.indexOf('PID')]), 'SIGKILL')
}
