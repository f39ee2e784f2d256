import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { toolApi, toolEndpoints } from '@flotilla/protocol/tool-api'
import { describe, expect, test } from 'vitest'
import { createDataFiles } from '../files/data-files.ts'
import type { RunMeshCall } from '../mesh/run-mesh.ts'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { noMesh } from '../testing/loop-parts.ts'
import { aPng } from '../testing/pictures.ts'
import type { RunStatus, Tool } from '../tools/tool.ts'
import { artifactTools } from './artifacts.ts'
import { statusTools } from './status.ts'
import { imageTools } from './view-image.ts'
import { webSearchTools } from './web-search.ts'

const data = mkdtempSync(join(tmpdir(), 'own-state-'))
const files = createDataFiles(data)
const clock = createManualClock(0)
const tools: readonly Tool[] = [
  ...artifactTools({ files }),
  ...statusTools({ dataDirectory: data, clock }),
  ...imageTools({ files }),
  ...webSearchTools(),
]
const status: RunStatus = {
  startedAt: 0,
  rounds: 4,
  roundsMax: 30,
  sessionRounds: { used: 10, max: 200 },
  tokens: 7,
  costUsd: 0.5,
  spending: null,
}

async function ask(name: string, input: JsonObject, replies: Readonly<Record<string, unknown>> = {}) {
  const tool = tools.find(({ definition }) => definition.name === name)
  if (!tool) throw new Error(`there is no ${name}`)
  const calls: RunMeshCall[] = []
  const mesh = {
    ...noMesh,
    call: async (call: RunMeshCall) => {
      calls.push(call)
      return replies[call.endpoint.path] ?? {}
    },
  }
  const { signal } = new AbortController()
  const context = { mesh, idempotencyKey: 'run_1:4', taskId: null, signal, status: () => status }
  return { answer: await tool.run(input, context), calls }
}

describe('the state of an agent, as it sees it', () => {
  const budgets = [{ name: 'daily', left_usd: 0.4 }]
  const replies = {
    [toolEndpoints.self.path]: { agent_id: 'w', model: 'a/b', run: null, queued: 2, pots: budgets },
    [toolEndpoints.toolsHeld.path]: { refused: [{ tool: 'web_search', reason: 'allowed_apis' }] },
  }

  test('the state of an agent, as it sees it is the time, the run with the rounds that are left, money, disk and what is withheld', async () => {
    const { answer } = await ask('get_system_status', {}, replies)
    expect(answer.output).toMatchObject({
      now: '1970-01-01T00:00:00.000Z',
      run: { model: 'a/b', runs_queued_behind_it: 2, rounds_left: 26, rounds_left_in_conversation: 190 },
      budgets,
      disk: { path: '/data', free_bytes: expect.any(Number) },
      withheld_tools: [{ tool: 'web_search', reason: 'allowed_apis' }],
    })
  })

  test('the state of an agent, as it sees it is asked of the mesh as far as it is wanted', async () => {
    expect((await ask('get_system_status', { section: 'disk' })).calls).toEqual([])
    const { answer, calls } = await ask('get_system_status', { section: 'budget' }, replies)
    expect(calls.map(({ endpoint }) => endpoint)).toEqual([toolEndpoints.self])
    expect(Object.keys(answer.output as object)).toEqual(['now', 'budgets'])
  })
})

describe('artifacts', () => {
  const of = (content: Buffer) => ({
    [toolEndpoints.artifact.path]: { content_base64: content.toString('base64') },
  })

  test('artifacts are listed for the agent itself, or for another by name', async () => {
    expect((await ask('list_artifacts', {})).calls[0]).toMatchObject({ query: {} })
    expect((await ask('list_artifacts', { agent: 'ann' })).calls[0]).toMatchObject({
      query: { agent: 'ann' },
    })
  })

  test('artifacts are read as text, or written to a file', async () => {
    const text = of(Buffer.from('a\nb'))
    expect((await ask('read_artifact', { name: 'n' }, text)).answer.output).toBe('a\nb')
    const whole = of(aPng())
    await expect(ask('read_artifact', { name: 'n' }, whole)).rejects.toMatchObject({ code: 'unprocessable' })
    const saved = await ask('read_artifact', { name: 'n', save_to: 'back.png' }, whole)
    expect(saved.answer.output).toEqual({ path: 'back.png', size_bytes: aPng().length })
    expect(readFileSync(join(data, 'back.png')).equals(aPng())).toBe(true)
    const soul = ask('read_artifact', { name: 'n', save_to: 'workspace/SOUL.md' }, text)
    await expect(soul).rejects.toMatchObject({ code: 'path-refused' })
  })
})

describe('a picture below /data', () => {
  test('a picture below /data is shown by what its bytes are', async () => {
    writeFileSync(join(data, 'picture.txt'), aPng())
    expect((await ask('view_image', { path: 'picture.txt' })).answer).toMatchObject({
      output: { media_type: 'image/png', size_bytes: aPng().length },
      images: [{ mediaType: 'image/png', base64: aPng().toString('base64') }],
    })
  })

  test('a picture below /data is refused if it is no picture, too large, or out of bounds', async () => {
    writeFileSync(join(data, 'fake.png'), 'not a picture')
    writeFileSync(join(data, 'large.png'), Buffer.concat([aPng(), Buffer.alloc(1024 * 1024)]))
    await expect(ask('view_image', { path: 'fake.png' })).rejects.toMatchObject({ code: 'unprocessable' })
    await expect(ask('view_image', { path: 'large.png' })).rejects.toMatchObject({ code: 'body-too-large' })
    await expect(ask('view_image', { path: '../../etc/passwd' })).rejects.toMatchObject({
      code: 'path-refused',
    })
  })
})

describe('a web search', () => {
  test('a web search is asked in the form that the mesh takes, and no more than twenty results', async () => {
    const { calls } = await ask('web_search', { query: 'tea', count: '7' })
    expect(calls[0]?.endpoint).toEqual(toolEndpoints.webSearch)
    expect(toolApi.webSearch.request.parse(calls[0]?.body)).toEqual({ query: 'tea', count: 7 })
    await expect(ask('web_search', { query: 'tea', count: 21 })).rejects.toMatchObject({
      detail: '`count`: expected a whole number from 1 to 20.',
    })
  })
})
