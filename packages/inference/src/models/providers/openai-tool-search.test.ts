import type {
  ResponseInputItem,
  ResponseToolSearchOutputItemParam,
  Tool,
} from 'openai/resources/responses/responses'
import { describe, expect, onTestFinished, test } from 'vitest'
import { asOpenAi } from '../../../../../tests/support/as-openai.ts'
import { startCachingProvider } from '../../../../../tests/support/caching-provider.ts'
import type { Body, ScriptedAnswer } from '../../../../../tests/support/caching-provider.ts'
import { randomId, systemClock } from '../../../../foundation/src/platform/system-clock.ts'
import { createSecret } from '../../../../egress/src/credentials/secret.ts'
import { createMakeProvider } from './make-provider.ts'

const aFunction = (name: string, description = `Does ${name}.`) => ({
  type: 'function',
  function: { name, description, parameters: { type: 'object', properties: {} } },
})
const core = ['call_tool', 'find_tools', 'run_command'].map((name) => aFunction(name))
const question = { role: 'user', content: 'Count.' }

function called(id: string, name: string, written = '{}') {
  const calls = [{ id, type: 'function', function: { name, arguments: written } }]
  return { role: 'assistant', content: null, tool_calls: calls }
}

/** A search that found these tools, as the agent sends it. */
function finds(id: string, names: readonly string[], note = 'Call these by their names.') {
  const content = ['Call these with call_tool:', ...names.map((name) => JSON.stringify({ name }))].join('\n')
  return [
    called(id, 'find_tools', '{"query":"x"}'),
    { role: 'tool', tool_call_id: id, content, found_tools: { names, note } },
  ]
}

/** Sends an agent's calls to a server under the name of OpenAI's host. */
async function anOpenAi(refuses: (body: Body) => string | null = () => null) {
  const upstream = await startCachingProvider('openai-items', { refuses })
  const host = await asOpenAi(`http://127.0.0.1:${upstream.port}`)
  const make = createMakeProvider({
    clock: systemClock,
    newId: randomId,
    proxies: host.proxies,
    makeScripted: () => {
      throw new Error('not scripted')
    },
  })
  const apiKey = createSecret('key', 'sk-upstream-key-0123456789')
  const setup = {
    kind: 'openai-compatible',
    baseUrl: host.baseUrl,
    apiKey,
    local: null,
    extras: {},
    usage: {},
  }
  const provider = make(setup as never, 'openai')
  onTestFinished(async () => {
    await provider.close()
    await host.close()
    await upstream.close()
  })
  const ask = async (chat: object, answer: ScriptedAnswer = { words: 'Counted.' }, model = 'gpt-5.4') => {
    upstream.script([answer])
    const parameters = { tools: core, max_completion_tokens: 100, stream: true, ...chat } as never
    const reply = await provider.complete(
      {
        form: 'chat',
        agentId: 'scout',
        model,
        stream: true,
        mayFit: true,
        parameters,
        body: JSON.stringify({ model, ...(parameters as object) }),
      },
      { signal: new AbortController().signal },
    )
    const text = Buffer.concat(await Array.fromAsync(reply.body)).toString()
    return { status: reply.status, text, body: upstream.bodies().at(-1) ?? {} }
  }
  return { ask, upstream }
}

const toolsOf = (body: Body) => body['tools'] as readonly { type: string; name?: string }[]
const search = (tool: { type: string }) => tool.type === 'tool_search'

describe('found tools at OpenAI', () => {
  test('the search is a tool search of the client with the same arguments, and its result defines what it found', async () => {
    const { ask } = await anOpenAi()
    const { status, body } = await ask({
      messages: [
        question,
        ...finds('call_1', ['set_cron', 'list_cron'], 'Not described: remove_cron'),
        called('call_2', 'set_cron', '{"at":1}'),
        { role: 'tool', tool_call_id: 'call_2', content: 'set' },
      ],
      deferred_tools: ['set_cron', 'list_cron'].map((name) => aFunction(name)),
      prompt_cache_key: 'flotilla-1',
    })
    expect(status).toBe(200)
    const definition = (name: string): ResponseToolSearchOutputItemParam['tools'][number] => ({
      type: 'function',
      name,
      description: `Does ${name}.`,
      parameters: { type: 'object', properties: {} },
      strict: false,
      defer_loading: true,
    })
    // The types are those of OpenAI's own client.
    const expected: { tools: Tool[]; input: ResponseInputItem[]; prompt_cache_key: string; store: false } = {
      tools: [
        {
          type: 'tool_search',
          execution: 'client',
          description: 'Does find_tools.',
          parameters: { type: 'object', properties: {} },
        },
        {
          type: 'function',
          name: 'run_command',
          description: 'Does run_command.',
          parameters: { type: 'object', properties: {} },
          strict: false,
        },
      ],
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'Count.' }] },
        {
          type: 'tool_search_call',
          id: 'tsc_call_1',
          execution: 'client',
          call_id: 'call_1',
          status: 'completed',
          arguments: { query: 'x' },
        },
        {
          type: 'tool_search_output',
          execution: 'client',
          call_id: 'call_1',
          status: 'completed',
          tools: [definition('set_cron'), definition('list_cron')],
        },
        {
          role: 'user',
          content: [{ type: 'input_text', text: '[Result of call call_1] Not described: remove_cron' }],
        },
        {
          type: 'function_call',
          call_id: 'call_2',
          name: 'set_cron',
          arguments: '{"at":1}',
          namespace: 'set_cron',
        },
        { type: 'function_call_output', call_id: 'call_2', output: 'set' },
      ],
      prompt_cache_key: 'flotilla-1',
      store: false,
    }
    const { tools, input, prompt_cache_key, store } = body
    expect({ tools, input, prompt_cache_key, store }).toEqual(expected)
  })

  test.each([
    ['gpt-5.4', 'commentary', 'final_answer'],
    ['gpt-5-mini', undefined, undefined],
  ])('earlier words of %s say whether they came before calls', async (model, before, last) => {
    const { ask } = await anOpenAi()
    const messages = [
      question,
      { ...called('call_1', 'run_command'), content: 'I look.' },
      { role: 'tool', tool_call_id: 'call_1', content: 'seen' },
      { role: 'assistant', content: 'Seven.' },
      { role: 'user', content: 'Again.' },
    ]
    const { status, body } = await ask({ messages }, { words: 'Seven.' }, model)
    expect(status).toBe(200)
    const said = (body['input'] as { role?: string; phase?: string }[]).filter(
      ({ role }) => role === 'assistant',
    )
    expect(said.map(({ phase }) => phase)).toEqual([before, last])
  })

  test('a search of the model is a call of find_tools, with the id that it ended with, and keeps its thinking', async () => {
    const { ask } = await anOpenAi()
    const found = { call: 'find_tools', input: { query: 'cron' } }
    const { text } = await ask({ messages: [question], deferred_tools: [] }, found)
    expect(text).toContain('"id":"call_1"')
    expect(text).not.toContain('begun-')
    expect(text).toContain('"name":"find_tools"')
    expect(text).toContain(JSON.stringify(JSON.stringify({ query: 'cron' })))
    expect(text).toContain('"finish_reason":"tool_calls"')
    expect(text).toContain('"data":"sealed-resp_1","format":"openai-responses-v1","from":"openai"')
  })

  test('a search that found nothing keeps its words, and an agent without found tools has no call_tool', async () => {
    const { ask } = await anOpenAi()
    const { status, body } = await ask({
      messages: [
        question,
        called('call_1', 'find_tools'),
        { role: 'tool', tool_call_id: 'call_1', content: 'No tool matches.' },
      ],
      deferred_tools: [],
    })
    expect(status).toBe(200)
    expect(JSON.stringify(body['input'])).toMatch(
      /"tool_search_output".*"tools":\[\].*\[Result of call call_1\] No tool matches\./,
    )
    expect(toolsOf(body).map(({ name }) => name)).toEqual([undefined, 'run_command'])
  })

  test('call_tool is offered for a definition that a compaction kept as text, and that tool has no namespace', async () => {
    const { ask } = await anOpenAi()
    const { status, body } = await ask({
      messages: [
        question,
        ...finds('call_1', ['set_cron']),
        called('call_2', 'vault_list'),
        { role: 'tool', tool_call_id: 'call_2', content: 'none' },
      ],
      deferred_tools: ['set_cron', 'vault_list'].map((name) => aFunction(name)),
    })
    expect(status).toBe(200)
    expect(toolsOf(body).map(({ name }) => name)).toContain('call_tool')
  })

  test.each([
    "Unknown parameter: 'input[2].status'.",
    "Missing namespace for function_call 'set_cron'. It does not exist in the default namespace. Round-trip the model's function_call item with its namespace field included.",
    "Invalid value: 'tool_search'. Supported values are: 'function' and 'custom'.",
    "Tool 'tool_search' is not supported with gpt-5.4-nano.",
    "Hosted tool 'tool_search' is not supported with gpt-5.4-nano.",
  ])(
    'a model that refuses the search gets the text and call_tool, from then on at once: %s',
    async (refusal) => {
      const { ask, upstream } = await anOpenAi((body) =>
        JSON.stringify(body).includes('"tool_search') ? refusal : null,
      )
      const first = await ask({
        messages: [question, ...finds('call_1', ['set_cron'])],
        deferred_tools: [aFunction('set_cron')],
      })
      expect(first.status).toBe(200)
      expect(toolsOf(first.body).some(search)).toBe(false)
      expect(toolsOf(first.body).map(({ name }) => name)).toEqual(['call_tool', 'find_tools', 'run_command'])
      expect(JSON.stringify(first.body)).toContain('Call these with call_tool')
      expect(upstream.bodies()).toHaveLength(2)
      const other = await ask({
        messages: [question, ...finds('call_1', ['vault_list'])],
        deferred_tools: [aFunction('vault_list')],
      })
      expect(other.status).toBe(200)
      expect(upstream.bodies()).toHaveLength(3)
    },
  )

  test('a conversation grows behind what was sent before, so that the cache of its beginning holds', async () => {
    const { ask } = await anOpenAi()
    const messages: object[] = [question]
    const known: string[] = []
    let before = ''
    for (const [turn, name] of ['set_cron', 'list_cron', 'vault_list'].entries()) {
      const id = `call_${turn}`
      const sealed = { type: 'reasoning.encrypted', data: `sealed-${turn}`, format: 'openai-responses-v1' }
      const [call, result] = finds(id, [name])
      messages.push({ ...call, reasoning_details: [{ ...sealed, from: 'openai' }] }, result ?? {})
      known.push(name)
      messages.push(called(`${id}b`, name), { role: 'tool', tool_call_id: `${id}b`, content: 'done' })
      const { status, body } = await ask({ messages, deferred_tools: known.map((one) => aFunction(one)) })
      expect(status).toBe(200)
      const now = JSON.stringify([body['tools'], ...(body['input'] as object[])]).slice(0, -1)
      expect(now).toContain(`sealed-${turn}`)
      expect(now.startsWith(before)).toBe(true)
      before = now
    }
  })
})
