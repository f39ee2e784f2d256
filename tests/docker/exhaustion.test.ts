import { isTerminal } from '@flotilla/protocol/run'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { aCassette, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { exhaustions } from '../support/exhaustion-attacks.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'
import { patient } from '../support/patience.ts'

const found = await engineOfThisMachine()

withEngine(
  'an agent that takes all it can',
  () => {
    let mesh: MeshProcess

    beforeAll(async () => {
      mesh = await startMesh({
        runtime: 'docker',
        cassettes: { idle: aCassette({ when: 'nothing', turns: [says('Nothing.')] }) },
        environment: { FLOTILLA_NO_INSTALL: '1' },
        // The agent exhausts its resources repeatedly, far more often than a fleet would accept.
        settings: { data_limit_mb: 128, restarts_per_hour: 1000 },
      })
      for (const id of ['glutton', 'other']) await mesh.createWorker(id)
    })
    afterAll(() => mesh?.stop())

    const say = async (agent: string, command: string) => {
      const run = await mesh.invoke(agent, 'run_command', { command, timeout_s: 120 })
      return {
        run,
        text: typeof run.outcome?.result === 'string' ? run.outcome.result : JSON.stringify(run.outcome),
      }
    }

    it.each(exhaustions)(
      'exhausting $what leaves the mesh ready and other agents working, and the agent recovers or its caller gets the reason',
      async ({ command, bound }) => {
        const over = new AbortController()
        const attack = say('glutton', command).finally(() => over.abort())
        // The result of the attack is checked below, whatever the other agents report meanwhile.
        attack.catch(() => {})
        let others = 0
        do {
          expect((await mesh.call(meshHumanEndpoints.healthz, { timeoutMs: patient(60_000) })).status).toBe(
            200,
          )
          const ready = await mesh.call(meshHumanEndpoints.readyz, { timeoutMs: patient(60_000) })
          expect(ready.status, ready.text).toBe(200)
          expect((await say('other', 'echo at-work > note && cat note')).text).toContain('at-work')
          others++
        } while (!over.signal.aborted)
        expect(others).toBeGreaterThan(0)
        const { run, text } = await attack
        expect(isTerminal(run.state)).toBe(true)
        // The run is done with the output of the attacker, or ended with a reason.
        if (run.state === 'done' && bound !== null) expect(text).toMatch(bound)
        else expect(run.outcome?.text ?? '', JSON.stringify(run)).not.toBe('')
        await eventually(
          'the attacker works again',
          async () => {
            const again = await say('glutton', 'echo back-again').catch(() => null)
            return again?.text.includes('back-again')
          },
          60_000,
        )
      },
      patient(120_000),
    )
  },
  found,
)
