import { afterAll, beforeAll, expect, it } from 'vitest'
import { aCassette, calls, operatorHandsOff } from '../support/cassettes.ts'
import { startCodingProvider } from '../support/coding-provider.ts'
import type { CodingWork } from '../support/coding-provider.ts'
import { editPermissions } from '../support/edit-permissions.ts'
import type { LlmUpstream, UpstreamCall } from '../support/llm-upstream.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { patient } from '../support/patience.ts'
import { harnessSize, runInside, workerWithImage } from './harness-fleet.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()

/** When the container is killed: the harness knows the result of its hand-off, or only the mesh knows of it. */
const moments = ['known', 'unknown'] as const
type Moment = (typeof moments)[number]

const titleOf = (moment: Moment) => `Count ${moment}`
const result = 'There are 7 lines.'
const workOf = (moment: Moment): CodingWork => ({
  file: '/data/repo/sum.js',
  content: 'exports.sum = (a, b) => a + b\n',
  testCommand: 'cd /data/repo && echo tested >> tested',
  handOff: { to: 'clerk', title: titleOf(moment), description: 'Count the lines' },
  result,
  summary: `Done after a kill (${moment}).`,
})

withEngine(
  'a killed container of a harness',
  ({ docker }) => {
    let mesh: MeshProcess
    let upstream: LlmUpstream
    /** Resolves with the first call of a model that knows of its hand-off, whose answer waits. */
    const knowing = Promise.withResolvers<UpstreamCall>()
    const killed = Promise.withResolvers<void>()
    beforeAll(async () => {
      const works = Object.fromEntries(moments.map((moment) => [moment, workOf(moment)]))
      upstream = await startCodingProvider(works, async (call) => {
        if (call.body['model'] !== 'known' || !/hand_off[^]*Count known/.test(call.text)) return
        knowing.resolve(call)
        await killed.promise
      })
      const npm = ['@agentclientprotocol/claude-agent-acp@0.101.0']
      mesh = await startMesh({
        runtime: 'docker',
        cassettes: {
          fleet: aCassette(
            ...moments.flatMap((moment) =>
              operatorHandsOff({
                when: `^work ${moment}$`,
                to: moment,
                title: `Repair ${moment}`,
                description: 'Repair the sum in /data/repo.',
                capture: { said: 'Summary: (.*)' },
                answer: '{{said}}',
              }),
            ),
            { agents: ['clerk'], turns: [calls('complete_task', { summary: result })] },
          ),
        },
        settings: {
          providers: { fake: { kind: 'openai-compatible', base_url: upstream.baseUrl } },
          models: Object.fromEntries(
            moments.map((name) => [`fake/${name}`, { price: { input_per_mtok: 1, output_per_mtok: 2 } }]),
          ),
          agents: Object.fromEntries(
            moments.map((name) => [
              name,
              { harness: 'claude-code', size: harnessSize, models: [`fake/${name}`], packages: { npm } },
            ]),
          ),
        },
      })
      await mesh.createWorker('clerk')
      for (const moment of moments) {
        await workerWithImage(mesh, moment, { model: `fake/${moment}` })
        await editPermissions(mesh, moment, { can_route_tasks: true, can_message: ['operator', 'clerk'] })
        await runInside(mesh, moment, 'mkdir repo && echo "exports.sum = (a, b) => a - b" > repo/sum.js')
      }
    }, patient(900_000))
    afterAll(async () => {
      killed.resolve()
      await mesh?.stop()
      await upstream?.close()
    })

    async function kill(agent: string): Promise<void> {
      const label = [`flotilla.agent=${agent}`, 'flotilla.role=agent']
      const [container] = await docker.listContainers({ filters: { label, status: ['running'] } })
      expect(container, 'the container of the harness runs').toBeDefined()
      await docker.getContainer(container!.Id).kill()
    }
    const handedOff = async (moment: Moment) =>
      (await mesh.tasks()).filter(({ title }) => title === titleOf(moment))

    it.each(moments)(
      'the session goes on and its hand-off exists once, if the harness did not end its turn (%s result)',
      { timeout: patient(600_000) },
      async (moment) => {
        const answered = mesh.ask(`work ${moment}`, { session: moment })
        if (moment === 'known') await knowing.promise
        else while ((await handedOff(moment)).length === 0);
        const before = upstream.calls.length
        await kill(moment)
        killed.resolve()
        const answer = await answered
        expect(answer.outcome?.text, mesh.log().slice(-3000)).toContain(workOf(moment).summary)
        expect(await handedOff(moment)).toEqual([
          expect.objectContaining({ state: 'done', assignee: 'clerk' }),
        ])
        // The program that the session ran before the kill is in what the model reads after it, and ran once.
        // Calls without tools are beside the conversation, such as for the title of the session.
        const after = upstream.calls
          .slice(before)
          .find(
            ({ body }) =>
              body['model'] === moment && Array.isArray(body['tools']) && body['tools'].length > 0,
          )
        expect(after?.text.includes(workOf(moment).testCommand), after?.text.slice(-3000)).toBe(true)
        expect(await runInside(mesh, moment, 'cat repo/tested')).toBe('exit code 0\ntested\n')
        const starts = await docker.listContainers({
          all: true,
          filters: { label: [`flotilla.agent=${moment}`] },
        })
        expect(starts).toHaveLength(1)
      },
    )
  },
  found,
)
