import { randomInt } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { agentStates, isLive } from '@flotilla/protocol/agent-lifecycle'
import { controlEndpoints } from '@flotilla/protocol/control-api'
import type { Endpoint } from '@flotilla/protocol/endpoint'
import { meshHumanApi, meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { labelKeys, volumeName } from '../../packages/fleet/src/sandbox/hardening/container-options.ts'
import { homeTag, sandboxName } from '../../packages/fleet/src/sandbox/sandbox-spec.ts'
import * as z from 'zod'
import { createChance } from '../chaos/chance.ts'
import { aCassette, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { openLedger } from '../support/ledger-view.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { patient } from '../support/patience.ts'
import { heedsLesson } from '../verifies.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'

const agentStateSchema = z.enum(agentStates)
const found = await engineOfThisMachine()
const agents = ['a-1', 'a_1', 'A-1', 'b', 'c', 'd']
/** `npm run test:soak` runs all steps. */
const stepCount = process.env['FLOTILLA_SOAK'] === '1' ? 300 : 25
const underWayMax = 3
const verbs = [
  'start',
  'start',
  'stop',
  'restart',
  'hibernate',
  'archive',
  'unarchive',
  'delete',
  'crash',
] as const
type Verb = (typeof verbs)[number]

/** Concurrent changes of agents: in every order, all records agree at the end. */
withEngine(
  'random steps over six agents',
  (engine) => {
    let mesh: MeshProcess
    let homeId: string

    beforeAll(async () => {
      mesh = await startMesh({
        runtime: 'docker',
        cassettes: { idle: aCassette({ when: '.', turns: [says('Well.')] }) },
        environment: { FLOTILLA_NO_INSTALL: '1' },
        // The test is about the order of steps, so restarts do not lead to a quarantine.
        settings: { restarts_per_hour: 1000 },
      })
      homeId = (await readFile(join(mesh.home, 'data', 'home-id'), 'utf8')).trim()
      for (const id of agents) await mesh.createWorker(id)
    })
    afterAll(() => mesh?.stop())

    const containers = () =>
      engine.docker.listContainers({
        all: true,
        filters: { label: [`${labelKeys.home}=${homeTag(homeId)}`] },
      })

    async function change(endpoint: Endpoint, id: string): Promise<number> {
      const reply = await mesh.call(endpoint, { params: { id }, timeoutMs: patient(120_000) })
      // A refusal is a valid answer; an internal error is not.
      expect(reply.status, `${endpoint.path} of ${id}: ${reply.text}`).not.toBe(500)
      return reply.status
    }

    async function take(verb: Verb, id: string): Promise<void> {
      switch (verb) {
        case 'start':
          await mesh.call(meshHumanEndpoints.invoke, {
            params: { id },
            body: { tool: 'run_command', params: { command: 'true' } },
            timeoutMs: patient(120_000),
          })
          return
        case 'stop':
          return void (await change(controlEndpoints.agentStop, id))
        case 'restart':
          return void (await change(meshHumanEndpoints.agentRestart, id))
        case 'hibernate':
          return void (await change(controlEndpoints.agentHibernate, id))
        case 'archive':
          return void (await change(controlEndpoints.agentArchive, id))
        case 'unarchive':
          return void (await change(controlEndpoints.agentUnarchive, id))
        case 'delete':
          await change(controlEndpoints.agentDelete, id)
          return void (await mesh.call(meshHumanEndpoints.agentCreate, { body: { id, role: 'r' } }))
        case 'crash':
          await engine.docker
            .getContainer(sandboxName(homeId, id))
            .kill()
            .catch(() => {})
      }
    }

    async function views() {
      const reply = await mesh.call(meshHumanEndpoints.status)
      return meshHumanApi.status.response.parse(reply.json()).agents
    }

    it(`${stepCount} of them leave configuration, containers, volumes, networks, tokens and tables at one`, async () => {
      heedsLesson(61, 62)
      const seed = Number(process.env['FLOTILLA_SEED'] ?? randomInt(2 ** 31))
      process.stderr.write(`interleaving: FLOTILLA_SEED=${seed}, ${stepCount} steps\n`)
      const chance = createChance(seed)
      const underWay = new Set<Promise<void>>()
      for (let step = 0; step < stepCount; step++) {
        const work = take(chance.pick(verbs), chance.pick(agents)).finally(() => underWay.delete(work))
        underWay.add(work)
        if (underWay.size >= underWayMax) await Promise.race(underWay)
      }
      await Promise.all(underWay)
      const last = await eventually(
        `nothing is under way any more (seed ${seed})`,
        async () => {
          const now = await views()
          return now.some(({ state }) => ['starting', 'stopping', 'deleted'].includes(state)) ? null : now
        },
        patient(120_000),
      )
      const said = `seed ${seed}`
      const ids = last.map(({ id }) => id).sort()
      expect(ids, said).toEqual(expect.arrayContaining(['operator']))

      const file = JSON.parse(await readFile(join(mesh.home, 'config', 'permissions.json'), 'utf8')) as {
        permissions: object
      }
      expect(Object.keys(file.permissions).sort(), said).toEqual(ids)

      const ledger = openLedger(mesh.home)
      const rows = ledger.rows('SELECT id, state, start_id FROM agents')
      const tokens = ledger.rows(
        'SELECT agent_id, start_id, count(*) AS count FROM agent_tokens GROUP BY 1, 2',
      )
      ledger.close()
      const live = rows
        .filter(({ state }) => isLive(agentStateSchema.parse(state)))
        .map(({ id }) => String(id))
        .sort()
      expect(tokens.map(({ agent_id: id }) => String(id)).sort(), said).toEqual(live)
      for (const { agent_id: id, start_id: start, count } of tokens) {
        expect([count, rows.find((row) => row['id'] === id)?.['start_id']], said).toEqual([2, start])
      }

      const held = await containers()
      const running = held.filter(({ State }) => State === 'running')
      expect(running.map(({ Labels }) => String(Labels[labelKeys.agent])).sort(), said).toEqual(live)
      for (const { Labels } of running) {
        const row = rows.find(({ id }) => id === Labels[labelKeys.agent])
        expect(Labels['flotilla.start'], said).toBe(row?.['start_id'])
      }
      for (const { Labels } of held) expect(ids, said).toContain(Labels[labelKeys.agent])

      const { Volumes } = await engine.docker.listVolumes()
      const ours = new Set(agents.map((id) => volumeName(homeId, id)))
      const kept = (Volumes ?? []).map(({ Name }) => Name).filter((name) => ours.has(name))
      expect(
        kept.filter((name) => !ids.some((id) => volumeName(homeId, id) === name)),
        said,
      ).toEqual([])
      const networks = await engine.docker.listNetworks()
      const net = networks.filter(({ Labels }) => Labels?.[labelKeys.home] === homeTag(homeId))
      expect(net, said).toHaveLength(1)
    })
  },
  found,
)
