import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startCodingProvider } from '../support/coding-provider.ts'
import { eventually } from '../support/eventually.ts'
import type { LlmUpstream } from '../support/llm-upstream.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { startNameServer } from '../support/name-server.ts'
import type { NameServer } from '../support/name-server.ts'
import { patient } from '../support/patience.ts'
import { startWireUpstream } from '../support/wire-upstream.ts'
import { harnessPackages, harnessSize, workerWithImage } from './harness-fleet.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()
const vendorHost = 'vendor.outside.test'
const timeout = patient(900_000)

/** The harnesses whose turns are steered and cancelled, and the program of each. */
const steered = [
  { harness: 'gemini', program: '/gemini' },
  { harness: 'opencode', program: 'opencode acp' },
] as const

withEngine(
  'turns of harnesses from their packages',
  ({ docker }) => {
    let mesh: MeshProcess
    let upstream: LlmUpstream
    let vendor: LlmUpstream
    let names: NameServer
    /** Called with the model of each call that waits; the answer follows when it resolves. */
    let hold: (model: string) => Promise<void> = async () => undefined
    beforeAll(async () => {
      upstream = await startCodingProvider({}, async ({ body, text }) => {
        // Only calls of the conversation have tools.
        if (Array.isArray(body['tools']) && /hold (?:one|two)/.test(text)) await hold(String(body['model']))
      })
      vendor = await startWireUpstream('anthropic')
      const vendorUrl = `http://${vendorHost}:${new URL(vendor.baseUrl).port}`
      names = await startNameServer((name) => (name === vendorHost ? ['127.0.0.1'] : null))
      mesh = await startMesh({
        runtime: 'docker',
        settings: {
          default_model: 'fake/gemini',
          providers: { fake: { kind: 'openai-compatible', base_url: upstream.baseUrl } },
          models: Object.fromEntries(
            steered.map(({ harness }) => [
              `fake/${harness}`,
              { price: { input_per_mtok: 1, output_per_mtok: 2 } },
            ]),
          ),
          egress: {
            dns_servers: [`127.0.0.1:${names.port}`],
            allowed_private: [vendorUrl.slice('http://'.length)],
            allowed_hosts: { 'signed-in': [vendorHost] },
          },
          agents: {
            ...Object.fromEntries(
              steered.map(({ harness }) => [
                harness,
                {
                  harness,
                  size: harnessSize,
                  models: [`fake/${harness}`],
                  packages: { npm: harnessPackages[harness] },
                },
              ]),
            ),
            'signed-in': {
              harness: {
                command: [
                  'env',
                  `ANTHROPIC_BASE_URL=${vendorUrl}`,
                  'ANTHROPIC_API_KEY=of-the-owner',
                  'CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1',
                  'claude-agent-acp',
                ],
              },
              size: harnessSize,
              packages: { npm: harnessPackages['claude-code'] },
            },
          },
        },
      })
    }, patient(600_000))
    afterAll(async () => {
      hold = async () => undefined
      await mesh?.stop()
      await Promise.all([upstream?.close(), vendor?.close()])
      names?.close()
    })

    /** Holds the next call of the model until `release` is called; `begun` resolves with its arrival. */
    function holding(model: string) {
      const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      hold = async (asked) => {
        if (asked !== model) return
        begun.resolve()
        await released.promise
      }
      return { begun: begun.promise, release: () => released.resolve() }
    }

    /** Returns the command lines of the processes in the container of the agent. */
    async function commandsIn(agent: string): Promise<readonly string[]> {
      const label = [`flotilla.agent=${agent}`, 'flotilla.role=agent']
      const [container] = await docker.listContainers({ filters: { label } })
      const found = await docker.getContainer(container?.Id ?? '').top()
      return (found.Processes as string[][]).map((columns) => columns.at(-1) ?? '')
    }

    it.each(steered)(
      'a steer of $harness is read after its current turn',
      { timeout },
      async ({ harness }) => {
        await workerWithImage(mesh, harness, { model: `fake/${harness}` })
        const { begun, release } = holding(harness)
        const id = await mesh.submit('Please hold one', { agent: harness, session: 'steered' })
        await begun
        const { length } = upstream.calls
        const reply = await mesh.call(meshHumanEndpoints.steer, {
          params: { id: harness },
          body: { text: 'And name a color.', session: 'steered' },
        })
        expect(reply.status, reply.text).toBe(200)
        release()
        const run = await mesh.ended(id, patient(120_000))
        expect(run, mesh.log().slice(-3000)).toMatchObject({
          state: 'done',
          steers: [{ state: 'taken', text: 'And name a color.' }],
          reported_tokens: 0,
        })
        const later = upstream.calls.slice(length).filter(({ text }) => text.includes('And name a color.'))
        expect(later.at(-1)?.text).toContain('Please hold one')
      },
    )

    it.each(steered)(
      'a cancelled turn of $harness ends its processes, and the conversation continues',
      { timeout },
      async ({ harness, program }) => {
        const { begun, release } = holding(harness)
        const id = await mesh.submit('Please hold two', { agent: harness, session: 'cancelled' })
        await begun
        const running = async () => (await commandsIn(harness)).some((line) => line.includes(program))
        expect(await running()).toBe(true)
        await mesh.call(meshHumanEndpoints.runCancel, { params: { id } })
        expect(await mesh.ended(id)).toMatchObject({ state: 'cancelled' })
        await eventually('the harness has ended', async () => !(await running()))
        release()
        const next = await mesh.ask('What is left?', { agent: harness, session: 'cancelled' })
        expect(next, mesh.log().slice(-3000)).toMatchObject({
          state: 'done',
          outcome: { text: expect.stringContaining('This is a question beside the work.') },
        })
      },
    )

    it(
      'a harness with an account of its own has the tokens that it reports counted without a price',
      { timeout },
      async () => {
        await workerWithImage(mesh, 'signed-in', { model: 'fake/gemini' })
        const { length } = upstream.calls
        const run = await mesh.ask('hi', { agent: 'signed-in' })
        expect(run, mesh.log().slice(-3000)).toMatchObject({ state: 'done', cost_usd: 0 })
        expect(vendor.calls[0]?.headers['x-api-key']).toBe('of-the-owner')
        expect(upstream.calls).toHaveLength(length)
        // The vendor reports 12 tokens of the prompt, 4 of them cached, and 30 of the answer.
        expect(run).toMatchObject({ tokens_used: 42, reported_tokens: 42 })
      },
    )
  },
  found,
)
