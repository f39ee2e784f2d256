import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { meshAgentApi, meshAgentEndpoints } from '@flotilla/protocol/mesh-agent-api'
import { resourceRequestApi, resourceRequestEndpoints } from '@flotilla/protocol/resource-requests-api'
import { vaultAgentApi, vaultAgentEndpoints } from '@flotilla/protocol/vault-api'
import { describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../tests/verifies.ts'
import { createDataFiles } from '../files/data-files.ts'
import type { RunMeshCall } from '../mesh/run-mesh.ts'
import { noMesh } from '../testing/loop-parts.ts'
import type { Tool } from '../tools/tool.ts'
import { blackboardTools } from './blackboard.ts'
import { handOffTools } from './hand-off.ts'
import { httpTools } from './http.ts'
import { messageTools } from './messages.ts'
import { resourceTools } from './resources.ts'
import { vaultTools } from './vault.ts'

/** Runs a tool against a mesh that records each request. */
async function ask(name: string, input: JsonObject, taskId: string | null = null) {
  const data = mkdtempSync(join(tmpdir(), 'tools-'))
  const files = createDataFiles(data)
  await files.write('report.md', Buffer.from('ä'))
  const tools: Tool[] = [
    ...blackboardTools(),
    ...handOffTools(),
    ...httpTools(),
    ...messageTools({ files }),
    ...vaultTools(),
    ...resourceTools(),
  ]
  const tool = tools.find((known) => known.definition.name === name)
  if (!tool) throw new Error(`there is no ${name}`)
  const calls: RunMeshCall[] = []
  const mesh = {
    ...noMesh,
    call: async (call: RunMeshCall) => {
      calls.push(call)
      return {}
    },
  }
  const signal = new AbortController().signal
  const answer = await tool.run(input, { mesh, idempotencyKey: 'run_1:4', taskId, signal })
  return { tool, answer, call: calls[0] }
}

type EffectName =
  | 'httpRequest'
  | 'blackboardWrite'
  | 'handOff'
  | 'steer'
  | 'completeTask'
  | 'saveArtifact'
  | 'notify'

const effects: readonly (readonly [tool: string, endpoint: EffectName, input: JsonObject])[] = [
  ['http_request', 'httpRequest', { url: 'https://example.org' }],
  [
    'http_request',
    'httpRequest',
    { url: 'https://example.org', method: 'POST', headers: { a: '$CRED{x}' }, body: 'b' },
  ],
  ['write_blackboard', 'blackboardWrite', { key: 'a/b', value: null }],
  ['write_blackboard', 'blackboardWrite', { key: 'a/b', value: { n: [1] }, expected_version: 0, ttl_s: 5 }],
  ['hand_off', 'handOff', { to: 'w2', title: 'count' }],
  ['hand_off', 'handOff', { to: 'w2', title: 'count', description: 'all', data: { n: 1 } }],
  ['steer_agent', 'steer', { to: 'w2', text: 'faster' }],
  ['complete_task', 'completeTask', { summary: 'done', task_id: 'task_1' }],
  ['complete_task', 'completeTask', { summary: 'no', status: 'failed', result: [1], task_id: 'task_1' }],
  ['save_artifact', 'saveArtifact', { name: 'report.md', path: 'report.md' }],
  ['save_artifact', 'saveArtifact', { name: 'note.txt', content: 'hi', description: 'a note' }],
  ['notify_user', 'notify', { message: 'look' }],
]

describe('what tools ask of the mesh', () => {
  test.each(effects)('%s sends what %s takes, under the key of its step', async (name, endpoint, input) => {
    const { tool, call } = await ask(name, input)
    expect(call).toMatchObject({ endpoint: meshAgentEndpoints[endpoint], idempotencyKey: 'run_1:4' })
    expect(tool.effect).toBe('mesh')
    const parsed = meshAgentApi[endpoint].request.safeParse(JSON.parse(JSON.stringify(call?.body)))
    expect(parsed.error).toBeUndefined()
  })

  test.each([
    ['read_blackboard', 'blackboardRead', { key: 'a/b' }],
    ['list_blackboard', 'blackboardList', {}],
    ['list_agents', 'agents', {}],
    ['check_inbox', 'inbox', {}],
  ] as const)('%s only reads, and needs no key', async (name, endpoint, input) => {
    const { tool, call } = await ask(name, input)
    expect(call).toMatchObject({ endpoint: meshAgentEndpoints[endpoint] })
    expect(call?.idempotencyKey).toBeUndefined()
    expect(tool.effect).toBe('none')
  })

  test.each([
    ['vault_list', 'vaultList', {}],
    ['vault_generate_secret', 'vaultGenerate', { name: 'a' }],
    ['request_credential', 'credentialRequest', { name: 'a', service: 's', description: 'd' }],
  ] as const)('%s asks the vault', async (name, endpoint, input) => {
    const { call } = await ask(name, input)
    expect(call).toMatchObject({ endpoint: vaultAgentEndpoints[endpoint] })
    const api = vaultAgentApi[endpoint]
    if ('request' in api) expect(api.request.safeParse(call?.body).error).toBeUndefined()
    expect(call?.idempotencyKey).toBe('request' in api ? 'run_1:4' : undefined)
  })

  test.each<[string, keyof typeof resourceRequestApi, JsonObject]>([
    ['request_packages', 'packagesRequest', { apt: ['ripgrep'], npm: 'typescript@5', reason: 'r' }],
    ['request_packages', 'packagesRequest', { toolboxes: ['go'], reason: 'r' }],
    ['request_size', 'sizeRequest', { memory_mb: 1024, cpus: 0.5, reason: 'r' }],
  ])('%s asks a person', async (name, endpoint, input) => {
    const { call } = await ask(name, input)
    expect(call).toMatchObject({
      endpoint: resourceRequestEndpoints[endpoint],
      idempotencyKey: 'run_1:4',
    })
    expect(resourceRequestApi[endpoint].request.safeParse(call?.body).error).toBeUndefined()
  })

  test('a file is sent as its bytes', async () => {
    const { call } = await ask('save_artifact', { name: 'r', path: '/data/report.md' })
    expect(call?.body).toMatchObject({ content_base64: Buffer.from('ä').toString('base64') })
  })

  test.each([{ name: 'r' }, { name: 'r', path: 'report.md', content: 'x' }])(
    'an artifact is a file or a text: %j is refused',
    async (input) => {
      await expect(ask('save_artifact', input)).rejects.toMatchObject({ code: 'bad-request' })
    },
  )

  test('closing the task at hand ends the work on it, closing another does not', async () => {
    const own = await ask('complete_task', { summary: 's' }, 'task_7')
    expect(own.call?.params).toEqual({ id: 'task_7' })
    expect(own.answer.completion).toMatchObject({
      taskId: 'task_7',
      status: 'done',
      summary: 's',
      result: null,
    })
    const other = await ask('complete_task', { summary: 's', task_id: 'task_8' }, 'task_7')
    expect(other.call?.params).toEqual({ id: 'task_8' })
    expect(other.answer.completion).toBeUndefined()
  })

  test('outside a task the task must be named', async () => {
    heedsLesson(52)
    await expect(ask('complete_task', { summary: 's' })).rejects.toMatchObject({ code: 'bad-request' })
  })
})
