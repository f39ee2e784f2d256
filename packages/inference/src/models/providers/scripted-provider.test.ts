import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { countingIds } from '../../../../../tests/support/collected-ports.ts'
import { aModelPath, startLlmServer, workerCaller } from '../../../../../tests/support/model-harness.ts'
import { systemClock } from '../../../../foundation/src/platform/system-clock.ts'
import { describeLlmProvider } from '../llm-provider.conformance.ts'
import { createScriptedProvider } from './scripted-provider.ts'

async function folderWith(cassettes: Readonly<Record<string, object | string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'cassettes-'))
  for (const [name, cassette] of Object.entries(cassettes)) {
    await writeFile(
      join(folder, `${name}.json`),
      typeof cassette === 'string' ? cassette : JSON.stringify(cassette, null, 1),
    )
  }
  return folder
}

const hello = {
  version: 1,
  tracks: [
    { when: '^wait$', turns: [{ content: 'at last', delay_ms: 60_000 }] },
    { turns: [{ content: 'Hello there' }] },
  ],
}

describeLlmProvider('scripted', async () => {
  const folders = [await folderWith({ hello })]
  const provider = createScriptedProvider({
    folders,
    cassette: null,
    clock: systemClock,
    newId: countingIds(),
  })
  return { provider, model: 'hello', close: () => provider.close() }
})

const count = {
  version: 1,
  tracks: [
    {
      agent_kind: 'worker',
      when: 'count the licences',
      turns: [
        { tool_calls: [{ name: 'run_command', arguments: { command: 'count' } }] },
        {
          capture: { total: String.raw`total=(\d+)` },
          content: 'Counted {{total}} packages. ',
          tool_calls: [
            { name: 'save_artifact', arguments: { name: 'report.md', lines: ['{{total}} packages'] } },
          ],
        },
        { content: 'Done: {{total}}.' },
      ],
    },
  ],
}

async function playing(cassettes: Readonly<Record<string, object | string>>) {
  const parts = aModelPath({
    cassettes: [await folderWith(cassettes)],
    settings: { agents: { scout: { models: ['scripted/*'] } } },
  })
  const gateway = await startLlmServer(parts.complete, workerCaller)
  const client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: 'program-token', maxRetries: 0 })
  return {
    parts,
    ask: (messages: OpenAI.ChatCompletionMessageParam[], model = 'scripted/count') =>
      client.chat.completions.stream({ model, messages }).finalChatCompletion(),
    close: async () => {
      await gateway.close()
      await parts.close()
    },
  }
}

describe('a cassette', () => {
  test('a cassette is played turn by turn with what the tools really returned', async () => {
    const { ask, close } = await playing({ count })
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: 'user', content: 'Please count the licences.' },
    ]
    const first = (await ask(messages)).choices[0]?.message
    expect(first?.tool_calls?.[0]).toMatchObject({
      function: { name: 'run_command', arguments: '{"command":"count"}' },
    })
    const callId = first?.tool_calls?.[0]?.id ?? ''
    messages.push({ role: 'assistant', tool_calls: first?.tool_calls ?? [] })
    messages.push({ role: 'tool', tool_call_id: callId, content: 'ok\ntotal=214\n' })
    const second = (await ask(messages)).choices[0]?.message
    expect(second?.content).toBe('Counted 214 packages. ')
    expect(second?.tool_calls?.[0]).toMatchObject({
      function: { arguments: '{"name":"report.md","lines":["214 packages"]}' },
    })
    messages.push({
      role: 'assistant',
      content: 'Counted 214 packages. ',
      tool_calls: second?.tool_calls ?? [],
    })
    messages.push({ role: 'tool', tool_call_id: second?.tool_calls?.[0]?.id ?? '', content: 'saved' })
    expect((await ask(messages)).choices[0]?.message.content).toBe('Done: 214.')
    await close()
  })

  test('a cassette fails the call when a tool did not return what it captures', async () => {
    const { ask, close } = await playing({ count })
    const calls = [{ id: 'c', type: 'function' as const, function: { name: 'run_command', arguments: '{}' } }]
    const failing = ask([
      { role: 'user', content: 'count the licences' },
      { role: 'assistant', tool_calls: calls },
      { role: 'tool', tool_call_id: 'c', content: 'command not found' },
    ])
    await expect(failing).rejects.toThrow('the capture total')
    await close()
  })

  test('a cassette fails the call of an agent that no track is for, and one past its last turn', async () => {
    const { ask, close } = await playing({ count })
    await expect(ask([{ role: 'user', content: 'something else' }])).rejects.toThrow('no track for scout')
    const said = Array.from({ length: 3 }, () => ({ role: 'assistant' as const, content: 'x' }))
    await expect(
      ask([
        { role: 'user', content: 'count the licences' },
        { role: 'tool', tool_call_id: 'c', content: 'total=1' },
        ...said,
      ]),
    ).rejects.toThrow('the track has 3 turns and turn 4 was asked for')
    await close()
  })

  test('a broken cassette is rejected with its line', async () => {
    const broken = '{\n "version": 1,\n "tracks": [\n  { "when": "(", "turns": [{ "content": "x" }] }\n ]\n}'
    const { ask, close } = await playing({ broken })
    await expect(ask([{ role: 'user', content: 'x' }], 'scripted/broken')).rejects.toThrow(
      'broken.json line 4',
    )
    await expect(ask([{ role: 'user', content: 'x' }], 'scripted/../../etc/passwd')).rejects.toThrow(
      'is not the name',
    )
    await close()
  })

  test('a cassette costs nothing and is listed by its name', async () => {
    const { ask, parts, close } = await playing({ count, hello })
    const answer = await ask([{ role: 'user', content: 'count the licences' }])
    expect(answer.usage).toBeUndefined()
    parts.spending.flush()
    expect(parts.events.bodies).toMatchObject([
      { type: 'model.called', model: 'scripted/count', cost_usd: 0 },
    ])
    expect(await parts.catalog.names()).toEqual(expect.arrayContaining(['scripted/count', 'scripted/hello']))
    await close()
  })
})
