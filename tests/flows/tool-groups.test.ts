import { agentEndpoints } from '@flotilla/protocol/agent-endpoints'
import { agentApi } from '@flotilla/protocol/agent-api'
import { meshHumanApi, meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { agentSurroundings } from '../support/agent-surroundings.ts'
import { aCassette, says } from '../support/cassettes.ts'
import { httpCall } from '../support/http-call.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { identityOf } from '../support/own-token.ts'
import { verifies } from '../verifies.ts'

let mesh: MeshProcess

beforeAll(async () => {
  mesh = await startMesh({ cassettes: { hello: aCassette({ turns: [says('Hello.')] }) } })
  await mesh.createWorker('clerk')
})
afterAll(() => mesh?.stop())

/** Returns the agent process's own list of tool groups with their tools. */
async function capabilitiesOf(agent: string) {
  await mesh.ask('hello', { agent })
  const { server } = await agentSurroundings(mesh, agent)
  const { method, path } = agentEndpoints.capabilities
  const proof = (await identityOf(mesh.home)).signFor(agent)
  const reply = await httpCall({
    method,
    url: `${server}${path}`,
    headers: { authorization: `Bearer ${proof}` },
  })
  const { tools, groups = [] } = agentApi.capabilities.response.parse(reply.json())
  return {
    groups: new Map(groups.map((group) => [group.name, group.tools])),
    groupOf: new Map(tools.map(({ name, group }) => [name, group])),
  }
}

describe('a new home', () => {
  it('a new home has the operator from its first start, and every agent that is made is a worker under another id', async () => {
    verifies(
      'purpose:agent:worker-or-operator',
      'purpose:operator:reserved-id',
      'purpose:operator:created-at-startup',
      'versioning:engine-version',
    )
    const health = await mesh.call(meshHumanEndpoints.healthz)
    expect(health.json()).toMatchObject({ version: '0.1.0' })
    const reply = await mesh.call(meshHumanEndpoints.status)
    const { agents } = meshHumanApi.status.response.parse(reply.json())
    expect(Object.fromEntries(agents.map(({ id, kind }) => [id, kind]))).toEqual({
      operator: 'operator',
      clerk: 'worker',
    })
    await expect(mesh.createWorker('operator')).rejects.toThrow(/reserved/)
    await expect(mesh.createWorker('boss', { kind: 'operator' })).rejects.toThrow(/bad-request/)
  })
})

describe('the tools of a running agent', () => {
  it('the tools of a running agent are in the groups that the specification names, by the names that it gives them there', async () => {
    verifies(
      'resources:tool:subagent-spawn',
      'resources:tool:subagent-list',
      'resources:tool:subagent-wait',
      'resources:tool:set-cron',
      'resources:tool:list-cron',
      'resources:tool:remove-cron',
    )
    const { groups, groupOf } = await capabilitiesOf('clerk')
    expect(groups.get('subagent_tool')).toEqual({
      spawn: 'spawn_subagent',
      list: 'list_subagents',
      wait: 'wait_for_subagent',
    })
    expect(groups.get('mesh_tool')).toMatchObject({
      set_cron: 'set_cron',
      list_cron: 'list_cron',
      remove_cron: 'remove_cron',
    })
    for (const name of ['spawn_subagent', 'list_subagents', 'wait_for_subagent'])
      expect(groupOf.get(name), name).toBe('subagent_tool')
    for (const name of ['set_cron', 'list_cron', 'remove_cron'])
      expect(groupOf.get(name), name).toBe('mesh_tool')
  })

  it('the tools of a running agent are those of every agent, and for the operator two groups more that no worker has', async () => {
    verifies('resources:operator:tool-surface', 'resources:operator:standard-tools')
    const [operator, worker] = [await capabilitiesOf('operator'), await capabilitiesOf('clerk')]
    const more = [...operator.groups.keys()].filter((name) => !worker.groups.has(name))
    expect(more).toEqual(['fleet_tool', 'operator_tools'])
    for (const name of worker.groups.keys()) expect(operator.groups.has(name), name).toBe(true)
    expect(operator.groups.get('fleet_tool')).toMatchObject({ inspect_fleet: 'inspect_fleet' })
    expect(operator.groups.get('operator_tools')).toMatchObject({ list_pending: 'list_pending' })
    for (const name of worker.groupOf.keys()) expect(operator.groupOf.has(name), name).toBe(true)
    // The listed tools exist: one of each operator group, and one of a group that all agents have.
    for (const name of ['inspect_fleet', 'list_pending', 'list_files']) {
      const made = await mesh.invoke('operator', name, {})
      expect(made.outcome, name).toMatchObject({ status: 'done' })
    }
    for (const name of ['inspect_fleet', 'list_pending']) {
      const refused = await mesh.invoke('clerk', name, {})
      expect(refused.outcome, name).toMatchObject({ status: 'failed' })
    }
  })
})
