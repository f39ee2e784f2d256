import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { operatorAgentId } from '@flotilla/protocol/ids'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { containerGroup } from '../../bench/cgroup.ts'
import { sandboxSizes } from '../../packages/fleet/src/sandbox/default-agent-sizes.ts'
import { sandboxName } from '../../packages/fleet/src/sandbox/sandbox-spec.ts'
import { startAgentStages } from '../support/agent-stages.ts'
import type { AgentStages } from '../support/agent-stages.ts'
import { verifies } from '../verifies.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'
import { patient } from '../support/patience.ts'

const found = await engineOfThisMachine()
const megabyte = 1024 * 1024

withEngine(
  'what an operator holds',
  (engine) => {
    let life: AgentStages
    beforeAll(async () => {
      life = await startAgentStages()
      await life.mesh.call(meshHumanEndpoints.agentRestart, {
        params: { id: operatorAgentId },
        body: {},
        timeoutMs: patient(60_000),
      })
    })
    afterAll(() => life?.close())

    const container = async () => {
      const homeId = (await readFile(join(life.mesh.home, 'data', 'home-id'), 'utf8')).trim()
      return engine.docker.getContainer(sandboxName(homeId, operatorAgentId))
    }

    it(
      'the memory of an operator leaves it everything that it can do in one life in 128 MB',
      { timeout: patient(120_000) },
      async () => {
        verifies('limits:operator-container:memory', 'resources:operator:memory')
        const { Id: id, State: before, HostConfig: host } = await (await container()).inspect()
        expect(host.Memory).toBe(sandboxSizes.operator.memoryLimitBytes)
        expect(host.Memory).toBe(128 * megabyte)
        const group = containerGroup(before.Pid)
        const idle = group.memory().anonymousBytes
        expect(idle).toBeLessThan(16 * megabyte)
        for (const { name, run } of life.stages(operatorAgentId)) {
          await run()
          expect(group.oomKills(), name).toBe(0)
        }
        // The stages used memory, and the process is still the same.
        expect(group.memory().anonymousBytes).toBeGreaterThan(2 * idle)
        const { Id: same, State: after } = await (await container()).inspect()
        expect([same, after.StartedAt, after.Pid]).toEqual([id, before.StartedAt, before.Pid])
      },
    )

    it('the memory of an operator is left to it when one of its programs takes more than there is', async () => {
      const { State: before } = await (await container()).inspect()
      const group = containerGroup(before.Pid)
      const greedy = await life.mesh.invoke(operatorAgentId, 'run_command', {
        command: `node -e 'const kept = []; for (;;) kept.push(Buffer.alloc(5e6, 1))'`,
        timeout_s: 60,
      })
      expect(greedy.outcome?.text).toContain('the container ran out of memory')
      expect(group.oomKills()).toBe(1)
      // Each process uses less memory than the agent, so the kernel would kill the agent first if the mesh did not
      // tell it otherwise.
      const many = await life.mesh.invoke(operatorAgentId, 'run_command', {
        command: 'for i in $(seq 5); do head -c 24M /dev/zero | tail > /dev/null & done; wait; echo over',
        // The kernel needs a while to detect exhausted memory, with a twentieth of a processor.
        timeout_s: 240,
      })
      expect(many.outcome?.text).toContain('over')
      expect(group.oomKills()).toBeGreaterThan(1)
      const [first] = life.stages(operatorAgentId)
      await first?.run()
      expect((await (await container()).inspect()).State.Pid).toBe(before.Pid)
    })
  },
  found,
)
