import { controlApi, controlEndpoints } from '@flotilla/protocol/control-api'
import type { ApprovalView } from '@flotilla/protocol/agent-edit'
import { agentPackagesViewSchema, packagesHumanEndpoints } from '@flotilla/protocol/packages-api'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { aCassette, calls, runs, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { patient } from '../support/patience.ts'
import { runInside } from './harness-fleet.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()
const buildTimeoutMs = 600_000

withEngine(
  'what an agent asks a person for',
  ({ docker }) => {
    let mesh: MeshProcess
    beforeAll(async () => {
      mesh = await startMesh({
        runtime: 'docker',
        cassettes: {
          asks: aCassette(
            {
              when: 'packages are in your image',
              turns: [
                runs('hello', { capture: {} }),
                says('It said: {{said}}', { capture: { said: '(Hello, \\w+!)' } }),
              ],
            },
            { when: 'is cancelled', turns: [says('I go on without it.')] },
            { when: 'has the new size', turns: [says('It has more room.')] },
            {
              when: '^give the greeter more room$',
              turns: [
                calls('request_size', {
                  agent_id: 'greeter',
                  memory_mb: 700,
                  pids: 300,
                  reason: 'To build.',
                }),
                says('I wait for it.'),
              ],
            },
            {
              when: '^get (?:hello|cowsay)$',
              turns: [
                calls(
                  'request_packages',
                  { apt: ['{{name}}'], reason: 'To greet.' },
                  { capture: { name: 'get (\\w+)' } },
                ),
                says('I wait for it.'),
              ],
            },
          ),
        },
      })
      await mesh.createWorker('greeter')
    }, patient(600_000))
    afterAll(() => mesh?.stop())

    const pending = async (state: string) => {
      const reply = await mesh.call(controlEndpoints.pending, { query: { state, limit: 100 } })
      return controlApi.pending.response.parse(reply.json()).pending
    }
    const asked = () =>
      eventually('a person is asked', async () => (await pending('open'))[0] ?? null, buildTimeoutMs)
    const decide = (endpoint: 'pendingConfirm' | 'pendingCancel', { id, digest }: ApprovalView) =>
      mesh.call(controlEndpoints[endpoint], {
        params: { id },
        ...(endpoint === 'pendingConfirm' ? { body: { digest } } : {}),
        timeoutMs: patient(buildTimeoutMs),
      })
    const imageOf = async () => {
      const reply = await mesh.call(packagesHumanEndpoints.agentPackages, { params: { id: 'greeter' } })
      return agentPackagesViewSchema.parse(reply.json()).image
    }

    it(
      'as a larger size of another agent is given to its container once a person grants it',
      { timeout: patient(300_000) },
      async () => {
        const limits = async () => {
          await runInside(mesh, 'greeter', 'true')
          const label = ['flotilla.agent=greeter', 'flotilla.role=agent']
          const [container] = await docker.listContainers({ filters: { label } })
          const { HostConfig } = await docker.getContainer(container?.Id ?? '').inspect()
          return [(HostConfig.Memory ?? 0) / 1024 ** 2, HostConfig.PidsLimit]
        }
        expect(await limits()).toEqual([384, 256])
        const id = await mesh.submit('give the greeter more room', { session: 'size' })
        const approval = await asked()
        expect(approval).toMatchObject({ subject: 'greeter', kind: 'change-size' })
        expect(approval.summary).toMatch(/from 384 MB of memory.* to 700 MB of memory/)
        expect(await limits()).toEqual([384, 256])
        expect((await decide('pendingConfirm', approval)).status).toBe(200)
        expect((await mesh.ended(id)).outcome?.text).toContain('It has more room.')
        expect(await limits()).toEqual([700, 300])
      },
    )

    it(
      'as packages are not installed before a person approves the exact lock, and the run goes on with them',
      { timeout: patient(900_000) },
      async () => {
        const id = await mesh.submit('get hello', { agent: 'greeter', session: 'one' })
        const approval = await asked()
        expect(approval).toMatchObject({ subject: 'greeter' })
        const lines = approval.consequences.join('\n')
        expect(lines).toMatch(/The lock, with SHA-256 [0-9a-f]{64}, changes 1 file of the image/)
        const [, version = 'none'] = /hello ([^\s,]+)/.exec(lines) ?? []
        expect(lines).toMatch(/hello .*sha256:[0-9a-f]{64}/)
        expect(await imageOf()).toBeNull()
        expect(await runInside(mesh, 'greeter', 'command -v hello || echo absent')).toContain('absent')
        const forged = { ...approval, digest: '0'.repeat(64) }
        expect((await decide('pendingConfirm', forged)).status).toBeGreaterThanOrEqual(400)

        expect((await decide('pendingConfirm', approval)).status).toBe(200)
        const run = await mesh.ended(id, buildTimeoutMs)
        expect(run.outcome?.text, mesh.log().slice(-3000)).toContain('It said: Hello, world!')
        expect(await imageOf()).toMatchObject({
          state: 'ready',
          packages: { apt: ['hello'] },
          locked: { apt: [{ name: 'hello', version }], npm: [], pip: [] },
        })
      },
    )

    it(
      'as packages are not installed if the person refuses, and the run goes on without them',
      { timeout: patient(900_000) },
      async () => {
        const before = await imageOf()
        const id = await mesh.submit('get cowsay', { agent: 'greeter', session: 'two' })
        await decide('pendingCancel', await asked())
        expect((await mesh.ended(id)).outcome?.text).toContain('I go on without it.')
        expect(await imageOf()).toEqual(before)
        expect(await runInside(mesh, 'greeter', 'ls /usr/games/cowsay 2>&1')).toContain('No such file')
      },
    )
  },
  found,
)
