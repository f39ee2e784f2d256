import { controlEndpoints } from '@flotilla/protocol/control-api'
import { journalEndpoints } from '@flotilla/protocol/journal-api'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { aCassette, calls, operatorHandsOff } from '../support/cassettes.ts'
import { madeCalls, startCodingProvider } from '../support/coding-provider.ts'
import type { CodingWork } from '../support/coding-provider.ts'
import { editPermissions } from '../support/edit-permissions.ts'
import { eventually } from '../support/eventually.ts'
import type { LlmUpstream } from '../support/llm-upstream.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { patient } from '../support/patience.ts'
import { harnessPackages, harnessSize, runInside, workerWithImage } from './harness-fleet.ts'
import type { KnownHarness } from './harness-fleet.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()
const isSoak = process.env['FLOTILLA_SOAK'] === '1'

/**
 * What is killed, and when: the harness knows the result of its hand-off and waits for a model, or only the mesh knows of
 * the hand-off.
 */
const kills = [
  { killed: 'container', when: 'known' },
  { killed: 'mesh', when: 'known' },
  { killed: 'container', when: 'unknown' },
] as const
type Kill = (typeof kills)[number]

/** What `npm run test:long` kills: one thing for each harness, and the second hand-off. The soak kills each. */
const everyTime = [
  'claude-code-container-unknown',
  'claude-code-mesh-known',
  'codex-mesh-known',
  'gemini-container-known',
  'opencode-container-known',
]
const cases = (Object.keys(harnessPackages) as KnownHarness[]).flatMap((harness) =>
  kills
    // One harness shows what the mesh does with a repeated call; it does not depend on the harness.
    .filter(({ when }) => when === 'known' || harness === 'claude-code')
    .map((kill: Kill) => ({ harness, ...kill, name: `${harness}-${kill.killed}-${kill.when}` }))
    .filter(({ name }) => isSoak || everyTime.includes(name)),
)

const result = 'There are 7 lines.'
const workOf = (name: string): CodingWork => ({
  file: '/data/repo/sum.js',
  content: 'exports.sum = (a, b) => a + b\n',
  testCommand: 'cd /data/repo && echo tested >> tested',
  handOff: { to: 'clerk', title: `Count for ${name}`, description: 'Count the lines' },
  result,
  summary: `Done after a kill of ${name}.`,
})

withEngine(
  'a kill in the middle of a turn of a harness',
  ({ docker }) => {
    let mesh: MeshProcess
    let upstream: LlmUpstream
    /** For each agent, the first call of a model that knows of the hand-off, whose answer waits for the kill. */
    const held = new Map(
      cases.map(({ name }) => [
        name,
        { known: Promise.withResolvers<void>(), killed: Promise.withResolvers<void>() },
      ]),
    )
    beforeAll(async () => {
      const works = Object.fromEntries(cases.map(({ name }) => [name, workOf(name)]))
      upstream = await startCodingProvider(works, async (call) => {
        const name = String(call.body['model'])
        if (!madeCalls(call).some((made) => made.includes(workOf(name).handOff.title))) return
        held.get(name)?.known.resolve()
        await held.get(name)?.killed.promise
      })
      mesh = await startMesh({
        runtime: 'docker',
        cassettes: {
          fleet: aCassette(
            ...cases.flatMap(({ name }) =>
              operatorHandsOff({
                when: `^work ${name}$`,
                to: name,
                title: `Repair ${name}`,
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
            cases.map(({ name }) => [`fake/${name}`, { price: { input_per_mtok: 1, output_per_mtok: 2 } }]),
          ),
          agents: Object.fromEntries(
            cases.map(({ name, harness }) => [
              name,
              {
                harness,
                size: harnessSize,
                models: [`fake/${name}`],
                packages: { npm: harnessPackages[harness] },
              },
            ]),
          ),
        },
      })
      await mesh.createWorker('clerk')
    })
    afterAll(async () => {
      for (const { killed } of held.values()) killed.resolve()
      await mesh?.stop()
      await upstream?.close()
    })

    async function killContainer(agent: string): Promise<void> {
      const label = [`flotilla.agent=${agent}`, 'flotilla.role=agent']
      const [container] = await docker.listContainers({ filters: { label, status: ['running'] } })
      expect(container, 'the container of the harness runs').toBeDefined()
      await docker.getContainer(container!.Id).kill()
    }
    const handedOff = async (name: string) =>
      (await mesh.tasks()).filter(({ title }) => title === workOf(name).handOff.title)

    it.each(cases)(
      'of the $killed, with a hand-off whose result is $when to $harness, loses nothing and repeats no effect',
      { timeout: patient(900_000) },
      async ({ harness, killed, when, name }) => {
        const work = workOf(name)
        await workerWithImage(mesh, name, { model: `fake/${name}` })
        await editPermissions(mesh, name, { can_route_tasks: true, can_message: ['operator', 'clerk'] })
        await runInside(mesh, name, 'mkdir repo && echo "exports.sum = (a, b) => a - b" > repo/sum.js')

        const run = await mesh.submit(`work ${name}`, { session: name })
        if (when === 'known') await held.get(name)!.known.promise
        else
          await eventually(
            'the work is handed off',
            async () => (await handedOff(name)).length > 0,
            patient(280_000),
          )
        const before = upstream.calls.length
        if (killed === 'container') await killContainer(name)
        else await mesh.kill9()
        held.get(name)!.killed.resolve()
        if (killed === 'mesh') await mesh.restart()

        const { outcome } = await mesh.ended(run, 280_000)
        const own = upstream.calls.filter(({ body }) => body['model'] === name)
        const last = own.findLast((call) => madeCalls(call).length > 0)
        expect(outcome?.text, `${last?.text.slice(-3000)}\n${mesh.log().slice(-3000)}`).toContain(
          work.summary,
        )
        expect(await handedOff(name)).toEqual([expect.objectContaining({ state: 'done', assignee: 'clerk' })])
        // What the session did before the kill is in what the model reads after it.
        const after = upstream.calls
          .slice(before)
          .find((call) => call.body['model'] === name && madeCalls(call).length > 0)
        expect(after?.text.includes(work.testCommand), after?.text.slice(-3000)).toBe(true)
        // Each tool was called once. A call whose result the harness did not get is made again, and gets its result.
        const times = (mark: string) => madeCalls(last!).filter((made) => made.includes(mark)).length
        expect([times('a + b'), times(work.testCommand)], last?.text).toEqual([1, 1])
        if (when === 'known') expect(times(work.handOff.title)).toBe(1)
        expect(await runInside(mesh, name, 'cat repo/tested')).toBe('exit code 0\ntested\n')
        const task = (await mesh.tasks()).find(({ title }) => title === `Repair ${name}`)
        expect(task).toMatchObject({ state: 'done', assignee: name })
        const query = { format: 'rows', action: 'task.*', agent: name }
        const { text } = await mesh.call(journalEndpoints.journalExport, { query })
        expect(text.match(/"action": ?"task.done"/g), text).toHaveLength(1)
        const starts = await docker.listContainers({
          all: true,
          filters: { label: [`flotilla.agent=${name}`] },
        })
        expect(starts, harness).toHaveLength(1)
        // Its memory is free for the next case.
        await mesh.call(controlEndpoints.agentStop, { params: { id: name } })
      },
    )
  },
  found,
)
