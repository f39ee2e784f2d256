import { describe, expect, test } from 'vitest'
import { answerStream, answerWhole, startLlmUpstream } from '../../../../../tests/support/llm-upstream.ts'
import { cassetteSchema } from './cassette.ts'
import { createOpenAiCompatibleProvider } from '../providers/openai-compatible-provider.ts'
import { playCassette } from './play-cassette.ts'
import { createCassetteRecorder } from './record-cassette.ts'

const open = () => new AbortController().signal

describe('a recording', () => {
  test('the recording of a real conversation plays the same conversation', async () => {
    const upstream = await startLlmUpstream()
    const recorder = createCassetteRecorder()
    const provider = recorder.wrap(
      createOpenAiCompatibleProvider({ baseUrl: upstream.baseUrl, apiKey: null }),
    )
    const toolCalls = [
      { id: 'c1', type: 'function', function: { name: 'read_file', arguments: '{"path":"a.txt"}' } },
    ]
    const asked = [{ role: 'user', content: 'What is in a.txt? (briefly)' }]
    const answered = [
      ...asked,
      { role: 'assistant', content: null, tool_calls: toolCalls },
      { role: 'tool', tool_call_id: 'c1', content: 'a greeting' },
    ]

    async function call(messages: typeof answered | typeof asked, stream: boolean): Promise<void> {
      const request = {
        form: 'chat' as const,
        agentId: 'scout',
        model: 'm',
        stream,
        parameters: { messages, stream } as never,
        body: JSON.stringify({ messages, stream }),
      }
      await Array.fromAsync((await provider.complete(request, { signal: open() })).body)
    }

    await call(asked, false)
    recorder.start()
    upstream.answerWith((_call, response) =>
      answerWhole(response, { role: 'assistant', content: null, tool_calls: toolCalls }),
    )
    await call(asked, false)
    upstream.answerWith(answerStream)
    await call(answered, true)
    const cassette = cassetteSchema.parse(recorder.stop())

    expect(playCassette(cassette, 'scout', asked as never).toolCalls).toEqual([
      { name: 'read_file', arguments: { path: 'a.txt' } },
    ])
    expect(playCassette(cassette, 'scout', answered as never).content).toBe('Hello there')
    expect(recorder.isRecording()).toBe(false)
    expect(() => recorder.stop()).toThrow('not recording')
    await provider.close()
    await upstream.close()
  })

  test('a recording plays again where the message names a task, although each task has an id and a time of its own', async () => {
    const upstream = await startLlmUpstream()
    const recorder = createCassetteRecorder()
    const provider = recorder.wrap(
      createOpenAiCompatibleProvider({ baseUrl: upstream.baseUrl, apiKey: null }),
    )
    upstream.answerWith((_call, response) => answerWhole(response, { role: 'assistant', content: 'Noted.' }))
    // The agent writes the time behind the first message of a task.
    const told = (id: string, time: string) => [
      { role: 'user', content: `Task ${id} "a (b)" is done.\n\n[It is Monday, 2026-11-30 ${time} UTC.]` },
    ]
    recorder.start()
    const parameters = { messages: told('task_0123456789abcdef', '09:15') } as never
    const request = {
      form: 'chat' as const,
      agentId: 'scout',
      model: 'm',
      stream: false,
      parameters,
      body: JSON.stringify(parameters),
    }
    await Array.fromAsync((await provider.complete(request, { signal: open() })).body)
    const cassette = cassetteSchema.parse(recorder.stop())
    expect(playCassette(cassette, 'scout', told('task_fedcba9876543210', '17:40') as never).content).toBe(
      'Noted.',
    )
    await provider.close()
    await upstream.close()
  })
})
