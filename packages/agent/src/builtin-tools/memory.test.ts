import type { JsonObject } from '@flotilla/protocol/json-value'
import { modelEndpoints } from '@flotilla/protocol/model-api'
import { describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../tests/verifies.ts'
import type { RunMesh, RunMeshCall } from '../mesh/run-mesh.ts'
import { createMemory } from '../memory/memory.ts'
import { noMesh } from '../testing/loop-parts.ts'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { aFolder, wordVector } from '../testing/memory-harness.ts'
import { quietLog } from '../testing/quiet-log.ts'
import { systemClock } from '../system-clock.ts'
import { executeToolCall } from '../tools/execute-tool-call.ts'
import type { CallProvenance } from '../tools/tool.ts'
import { memoryTools } from './memory.ts'

const asOwner: CallProvenance = { runId: 'run_1', origin: 'human', channel: 'cli', trust: 'owner', urls: [] }

function anAgent(options: { model?: string; mesh?: RunMesh } = {}) {
  const embeddingModel = options.model ?? null
  const memory = createMemory({
    dataDirectory: aFolder(),
    embeddingModel,
    clock: createManualClock(),
    log: quietLog,
  })
  const tools = memoryTools({ memory, embeddingModel })
  const call = async (name: string, input: JsonObject, provenance: CallProvenance | null = asOwner) => {
    const tool = tools.find((known) => known.definition.name === name)
    if (!tool) throw new Error(`there is no ${name}`)
    const context = {
      mesh: options.mesh ?? noMesh,
      idempotencyKey: 'run_1:4',
      taskId: null,
      signal: new AbortController().signal,
      ...(provenance === null ? {} : { provenance: () => provenance }),
    }
    const end = await executeToolCall(tool, input, { context, clock: systemClock })
    return { ...end, json: end.ok ? (JSON.parse(end.output) as JsonObject) : {} }
  }
  return { call, memory }
}

describe('the tools of memory', () => {
  test('what is saved is found, with its source and its label in the model’s sight', async () => {
    const { call } = anAgent()
    const outside = { ...asOwner, trust: 'outside', urls: ['https://example.org/a'] } as const
    const saved = await call(
      'memory_save',
      { content: 'Tea is at four', key: 'tea', category: 'habit' },
      outside,
    )
    expect(saved.json).toMatchObject({ id: 'fact_1', key: 'tea', trust: 'outside', change: 'new' })
    const found = await call('memory_search', { query: 'when is tea?' })
    expect(found.json).toMatchObject({
      searched_by: 'words only (no embedding model is set)',
      facts: [
        {
          id: 'fact_1',
          text: 'Tea is at four',
          trust: 'outside',
          from: { run: 'run_1', origin: 'human by cli', after_reading: ['https://example.org/a'] },
        },
      ],
    })
  })

  test('a hidden instruction never comes back', async () => {
    heedsLesson(40)
    const { call } = anAgent()
    const hidden = Array.from('obey', (letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0))).join(
      '',
    )
    await call('memory_save', { content: `Tea${hidden} is at\u200B four` })
    const { output } = await call('memory_search', { query: 'tea' })
    expect(output).toContain('Tea is at four')
    expect(output).not.toMatch(/[\u{E0000}-\u{E007F}\u200B]/u)
  })

  test('without provenance nothing is trusted', async () => {
    const { call } = anAgent()
    expect((await call('memory_save', { content: 'x y z' }, null)).json).toMatchObject({ trust: 'outside' })
  })

  test('a fact is forgotten by id or key, once', async () => {
    const { call } = anAgent()
    await call('memory_save', { content: 'one' })
    await call('memory_save', { content: 'two', key: 'k' })
    expect((await call('memory_forget', { id: 'fact_1' })).json).toEqual({ forgotten: 'fact_1', text: 'one' })
    expect((await call('memory_forget', { key: 'k' })).ok).toBe(true)
    expect(await call('memory_forget', { key: 'k' })).toMatchObject({ ok: false, code: 'not-found' })
    for (const input of [{}, { id: 'fact_1', key: 'k' }, { id: 'first' }])
      expect((await call('memory_forget', input)).code).toBe('bad-request')
  })

  test('nothing found names the categories there are', async () => {
    const { call } = anAgent()
    await call('memory_save', { content: 'tea is at four', category: 'habit' })
    expect((await call('memory_search', { query: 'coffee' })).json).toMatchObject({
      facts: [],
      categories: ['habit'],
    })
  })

  test('long facts are left out whole rather than cut through their labels', async () => {
    const { call } = anAgent()
    for (const word of ['one', 'two', 'three', 'four', 'five', 'six'])
      await call('memory_save', { content: `tea ${word} ${'\n"'.repeat(1990)}` })
    const { output, json } = await call('memory_search', { query: 'tea', max_results: 6 })
    expect(output.length).toBeLessThan(20_000)
    expect(output).not.toContain('left out')
    expect(json['facts']).toHaveLength(1)
  })

  test('the mesh makes the vectors, for this run', async () => {
    const asked: RunMeshCall[] = []
    const mesh: RunMesh = {
      ...noMesh,
      ended: new AbortController().signal,
      call: async (call) => {
        asked.push(call)
        const { input } = call.body as { input: string[] }
        return { data: input.map((text, index) => ({ index, embedding: [...wordVector(text)] })) }
      },
    }
    const { call } = anAgent({ model: 'p/embed', mesh })
    expect((await call('memory_save', { content: 'tea is at four' })).json).toMatchObject({
      found_by: 'words and meaning',
    })
    expect((await call('memory_search', { query: 'tea' })).json).toMatchObject({
      searched_by: 'words and meaning',
    })
    expect(asked.map(({ endpoint, body }) => [endpoint, body])).toEqual([
      [modelEndpoints.embeddings, { model: 'p/embed', input: ['tea is at four'], encoding_format: 'float' }],
      [modelEndpoints.embeddings, { model: 'p/embed', input: ['tea'], encoding_format: 'float' }],
    ])
  })
})
