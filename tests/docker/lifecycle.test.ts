import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { controlEndpoints } from '@flotilla/protocol/control-api'
import { meshHumanApi, meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import * as z from 'zod'
import { labelKeys, volumeName } from '../../packages/fleet/src/sandbox/hardening/container-options.ts'
import { homeTag, sandboxName } from '../../packages/fleet/src/sandbox/sandbox-spec.ts'
import { aCassette, calls, says } from '../support/cassettes.ts'
import { editPermissions } from '../support/edit-permissions.ts'
import { eventually } from '../support/eventually.ts'
import { openLedger } from '../support/ledger-view.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { patient } from '../support/patience.ts'
import { verifies } from '../verifies.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()
const wakes = process.env['FLOTILLA_SOAK'] === '1' ? 5 : 3
const eventSchema = z.looseObject({
  Action: z.string(),
  Actor: z.looseObject({ ID: z.string(), Attributes: z.record(z.string(), z.string()) }),
})
const spawn = (task: string, more: Record<string, string> = {}) => ({
  name: 'spawn_fleet_agent',
  arguments: { role: 'digger', task, permissions: { can_spawn: true }, ...more },
})

const cassette = aCassette(
  {
    agents: ['boss', 'bomber'],
    when: '"digger: ',
    turns: [says('It says: {{said}}', { capture: { said: 'Summary: ([^\\n]*)' } })],
  },
  { agents: ['boss'], when: '^dig$', turns: [{ tool_calls: [spawn('Dig here')] }, says('Under way.')] },
  {
    agents: ['bomber'],
    when: '^bomb$',
    turns: [{ tool_calls: Array.from({ length: 8 }, () => spawn('Go forth')) }, says('Gone forth.')],
  },
  { agent_kind: 'worker', when: '"digger: [^"]*", which you gave', turns: [says('Well.')] },
  {
    agent_kind: 'worker',
    when: 'Dig here',
    turns: [
      calls('run_command', {
        command: 'touch /data/dug; until [ -e /tmp/seen ]; do sleep 0.1; done; id -u; ls /data/dug',
        timeout_s: 200,
      }),
      calls('complete_task', { summary: 'dug as {{uid}}' }, { capture: { uid: '\\b(1000)\\b' } }),
    ],
  },
  // A fork bomb: each child spawns as many children as its parent did.
  {
    agent_kind: 'worker',
    when: 'Go forth',
    turns: [{ tool_calls: Array.from({ length: 8 }, () => spawn('Go forth')) }, says('Gone forth.')],
  },
  { agent_kind: 'worker', when: '.', turns: [says('Here.')] },
)

withEngine(
  'the life of agents in containers',
  (engine) => {
    let mesh: MeshProcess
    let homeId: string
    const container = (agent: string) => engine.docker.getContainer(sandboxName(homeId, agent))
    const isRunning = async (agent: string) => (await container(agent).inspect()).State.Running

    beforeAll(async () => {
      mesh = await startMesh({
        runtime: 'docker',
        cassettes: { life: cassette },
        environment: { FLOTILLA_NO_INSTALL: '1' },
        settings: { spawning: { per_parent: 2, fleet: 4 } },
      })
      homeId = (await readFile(join(mesh.home, 'data', 'home-id'), 'utf8')).trim()
      for (const id of ['sleeper', 'glutton', 'boss', 'bomber']) await mesh.createWorker(id)
      for (const id of ['boss', 'bomber']) await editPermissions(mesh, id, { can_spawn: true })
    })
    afterAll(() => mesh?.stop())
    beforeEach(() => mesh.restartIfStopped())

    async function viewOf(id: string) {
      const reply = await mesh.call(meshHumanEndpoints.status)
      return meshHumanApi.status.response.parse(reply.json()).agents.find((agent) => agent.id === id)
    }
    const spawnedContainers = async () =>
      (
        await engine.docker.listContainers({
          all: true,
          filters: { label: [`${labelKeys.home}=${homeTag(homeId)}`] },
        })
      ).filter(({ Labels }) => Labels[labelKeys.agent]?.startsWith('spawn_'))

    /**
     * Starts to count; the returned function tells the largest number of containers of spawned agents at one time.
     */
    async function countSpawned(): Promise<() => number> {
      const there = new Set<string>()
      let most = 0
      const label = [`${labelKeys.home}=${homeTag(homeId)}`]
      const leave = new AbortController()
      const stream = await engine.docker.getEvents({
        filters: { type: ['container'], event: ['create', 'destroy'], label },
        abortSignal: leave.signal,
      })
      const lines = createInterface({ input: stream })
      // Without a listener, the disconnection would be an uncaught error.
      lines.on('error', () => {})
      lines.on('line', (line) => {
        const { Action, Actor } = eventSchema.parse(JSON.parse(line))
        if (!Actor.Attributes[labelKeys.agent]?.startsWith('spawn_')) return
        if (Action === 'create') there.add(Actor.ID)
        else there.delete(Actor.ID)
        most = Math.max(most, there.size)
      })
      return () => {
        leave.abort()
        return most
      }
    }

    it('agents in containers hibernate without a process, and wake in at most one and a half times a first start', async () => {
      const readyMs = (id: string): readonly number[] => {
        const ledger = openLedger(mesh.home)
        const rows = ledger.rows(
          `SELECT detail FROM journal WHERE action = 'agent.started' AND subject = '${id}' ORDER BY seq`,
        )
        ledger.close()
        return rows.map(({ detail }) => (JSON.parse(String(detail)) as { ready_ms: number }).ready_ms)
      }
      const first: number[] = []
      for (let round = 0; round < wakes; round++) {
        // Both starts are measured in the same round, so that other load affects both.
        await mesh.createWorker(`fresh-${round}`)
        await mesh.ask('hello', { agent: `fresh-${round}` })
        first.push(...readyMs(`fresh-${round}`))
        await mesh.ask('hello', { agent: 'sleeper' })
        const slept = await mesh.call(controlEndpoints.agentHibernate, { params: { id: 'sleeper' } })
        expect(slept.json()).toMatchObject({ state: 'hibernated' })
        expect(await isRunning('sleeper')).toBe(false)
      }
      await mesh.ask('hello', { agent: 'sleeper' })
      expect(await viewOf('sleeper')).toMatchObject({ state: 'running' })
      const woken = readyMs('sleeper').slice(1)
      const [create, wake] = [median(first), median(woken)]
      process.stderr.write(
        `create to ready ${create} ms, wake to ready ${wake} ms (medians of ${first.length} and ${woken.length}): ${(wake / create).toFixed(2)} x\n`,
      )
      expect(wake / create).toBeLessThanOrEqual(1.5)
    })

    it('keep their files over a sleep, and are waked by the mesh that comes after the one that put them to sleep', async () => {
      await mesh.invoke('sleeper', 'run_command', { command: 'echo kept > /data/note' })
      await mesh.call(controlEndpoints.agentHibernate, { params: { id: 'sleeper' } })
      await mesh.kill9()
      await mesh.restart()
      expect(await viewOf('sleeper')).toMatchObject({ state: 'hibernated' })
      const read = await mesh.invoke('sleeper', 'run_command', { command: 'cat /data/note' })
      expect(JSON.stringify(read.outcome)).toContain('kept')
    })

    it('agents in containers are lost by name where the kernel killed them for want of memory, and come back to their work', async () => {
      await mesh.call(meshHumanEndpoints.agentRestart, { params: { id: 'glutton' } })
      await squeeze()
      // The first run of an agent loads modules, for which its memory has no room.
      const run = await mesh.ask('hello', { agent: 'glutton' })
      expect(run).toMatchObject({ state: 'done', outcome: { text: 'Here.' } })
      const ledger = openLedger(mesh.home)
      const [died] = ledger.rows(
        "SELECT detail FROM journal WHERE action = 'agent.died' AND subject = 'glutton'",
      )
      ledger.close()
      expect(JSON.parse(String(died?.['detail']))).toMatchObject({
        out_of_memory: true,
        reason: 'the kernel killed the agent because its container ran out of memory (limit: 384 MB)',
      })
      expect(await viewOf('glutton')).toMatchObject({ state: 'running', last_error: null })
    })

    /** Sets the lowest memory limit that the engine accepts, just above what the idle agent uses. */
    async function squeeze(): Promise<void> {
      for (let limit = 8; limit < 64; limit++) {
        const bytes = limit * 1024 * 1024
        const taken = await container('glutton')
          .update({ Memory: bytes, MemorySwap: bytes })
          .then(
            () => true,
            () => false,
          )
        if (taken) return
      }
      throw new Error('the engine takes no limit')
    }

    it('agents in containers are made from inside a container, each behind every wall with a volume of its own, and leave nothing', async () => {
      verifies('resources:tool:spawn-fleet-agent')
      const run = await mesh.submit('dig', { agent: 'boss' })
      const child = await eventually(
        'its container is there',
        async () => (await spawnedContainers())[0] ?? null,
      )
      const id = child.Labels[labelKeys.agent] ?? ''
      const container = engine.docker.getContainer(child.Id)
      const { HostConfig, Config } = await container.inspect()
      expect(HostConfig).toMatchObject({ ReadonlyRootfs: true, CapDrop: ['ALL'], PidsLimit: 256 })
      expect(Config.User).toMatch(/^1000/)
      // The program continues only now; otherwise it could end before the check.
      const seen = await container.exec({ Cmd: ['touch', '/tmp/seen'] })
      await seen.start({ Detach: true })
      const ended = await mesh.ended(run)
      expect(ended.outcome?.text).toBe('It says: dug as 1000')
      await eventually('its container is gone', async () => (await spawnedContainers()).length === 0)
      await eventually('its row is gone, which goes last', async () => (await viewOf(id)) === undefined)
      const { Volumes } = await engine.docker.listVolumes()
      expect((Volumes ?? []).map(({ Name }) => Name)).not.toContain(volumeName(homeId, id))
    })

    it('agents in containers cannot be made without end: a fork bomb makes as many as the owner said, and the fleet goes on', async () => {
      const mostAtOnce = await countSpawned()
      const run = await mesh.submit('bomb', { agent: 'bomber' })
      await eventually('its children did as it did', async () => {
        const ledger = openLedger(mesh.home)
        const [row] = ledger.rows("SELECT count(*) AS count FROM journal WHERE action = 'agent.spawned'")
        ledger.close()
        return Number(row?.['count']) >= 4
      })
      expect((await mesh.ask('hello', { agent: 'sleeper' })).outcome?.text).toBe('Here.')
      await mesh.call(meshHumanEndpoints.runCancel, { params: { id: run } })
      await eventually(
        'all of them are gone',
        async () => (await spawnedContainers()).length === 0,
        patient(120_000),
      )
      const most = mostAtOnce()
      expect(most).toBeLessThanOrEqual(4)
      expect(most).toBeGreaterThan(0)
    })

    it('agents in containers are not created by programs: their token opens only the models and the egress proxy', async () => {
      const command = `node -e "fetch(process.env.OPENAI_BASE_URL.replace('/v1','')+'/mesh/spawn',{method:'POST',headers:{authorization:'Bearer '+process.env.OPENAI_API_KEY,'content-type':'application/json'},body:JSON.stringify({role:'r',task:'t'})}).then(r=>console.log('answered',r.status))"`
      const run = await mesh.invoke('boss', 'run_command', { command })
      expect(JSON.stringify(run.outcome)).toMatch(/answered 40[13]/)
      expect(await spawnedContainers()).toEqual([])
    })
  },
  found,
)

function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
