import type { MessageCreateParams } from '@anthropic-ai/sdk/resources/messages'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startCachingProvider } from '../../../../../tests/support/caching-provider.ts'
import type { Body } from '../../../../../tests/support/caching-provider.ts'
import { expandedPrompt } from '../../../../../tests/support/deferred-in-prompt.ts'
import { randomId, systemClock } from '../../../../foundation/src/platform/system-clock.ts'
import { createSecret } from '../../../../egress/src/credentials/secret.ts'
import { createMakeProvider } from './make-provider.ts'

const model = 'claude-sonnet-5'
const aFunction = (name: string, description = `Does ${name}.`) => ({
  type: 'function',
  function: { name, description, parameters: { type: 'object', properties: {} } },
})
const core = ['call_tool', 'find_tools', 'run_command'].map((name) => aFunction(name))
const mark = { cache_control: { type: 'ephemeral' } } as const

let ids = 0
/** A call of `find_tools`, and its result. */
function finds(names: readonly string[], note = 'Call these by their names.') {
  const id = `call_${(ids += 1)}`
  return [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: { name: 'find_tools', arguments: '{"query":"x"}' } }],
    },
    {
      role: 'tool',
      tool_call_id: id,
      content: ['Call these with call_tool:', ...names.map((name) => JSON.stringify({ name }))].join('\n'),
      found_tools: { names, note },
    },
  ]
}

/** Sends chat completions to a provider that bills and rejects as Anthropic does. */
async function anAnthropic(refuses: (body: Body) => string | null = () => null) {
  const upstream = await startCachingProvider('anthropic', { refuses })
  onTestFinished(() => upstream.close())
  const make = createMakeProvider({
    clock: systemClock,
    newId: randomId,
    makeScripted: () => {
      throw new Error('not scripted')
    },
  })
  const provider = make(
    {
      kind: 'anthropic',
      baseUrl: `http://127.0.0.1:${upstream.port}/v1`,
      apiKey: createSecret('key', 'sk-upstream-key-0123456789'),
      usage: {},
    } as never,
    'lab',
  )
  onTestFinished(() => provider.close())
  const ask = async (chat: object) => {
    const parameters = { tools: core, max_tokens: 100, stream: true, ...chat } as never
    const request = { form: 'chat', agentId: 'scout', model, stream: true, mayFit: true } as const
    const reply = await provider.complete(
      { ...request, parameters, body: JSON.stringify(parameters) },
      { signal: new AbortController().signal },
    )
    const text = Buffer.concat(await Array.fromAsync(reply.body)).toString()
    return { status: reply.status, text, body: upstream.bodies().at(-1) ?? {} }
  }
  return { ask, upstream }
}

const question = { role: 'user', content: 'Count.' }
const namesOf = (body: Body) => (body['tools'] as { name: string }[]).map(({ name }) => name)

describe('found tools at a provider with a tool search', () => {
  test('a result refers to deferred tools, what else it says follows the results, and call_tool is not offered', async () => {
    const { ask } = await anAnthropic()
    const [call, result] = finds(['set_cron', 'list_cron'], 'Not described: remove_cron')
    const { status, body } = await ask({
      messages: [question, call, result],
      deferred_tools: ['set_cron', 'list_cron'].map((name) => aFunction(name)),
    })
    expect(status).toBe(200)
    const shared = { input_schema: { type: 'object', properties: {} }, eager_input_streaming: true } as const
    // The type is that of Anthropic's own SDK.
    const expected: Pick<MessageCreateParams, 'tools' | 'messages'> = {
      tools: [
        { ...shared, name: 'find_tools', description: 'Does find_tools.' },
        { ...shared, name: 'run_command', description: 'Does run_command.' },
        { ...shared, name: 'set_cron', description: 'Does set_cron.', defer_loading: true },
        { ...shared, name: 'list_cron', description: 'Does list_cron.', defer_loading: true },
      ],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Count.' }] },
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: `call_${ids}`, name: 'find_tools', input: { query: 'x' } }],
        },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: `call_${ids}`,
              content: [
                { type: 'tool_reference', tool_name: 'set_cron' },
                { type: 'tool_reference', tool_name: 'list_cron' },
              ],
            },
            { type: 'text', text: `[Result of call call_${ids}] Not described: remove_cron` },
          ],
        },
      ],
    }
    expect({ tools: body['tools'], messages: body['messages'] }).toEqual(expected)
  })

  test('an agent that has found nothing yet gets the core tools without call_tool', async () => {
    const { ask } = await anAnthropic()
    const { body } = await ask({ messages: [question], deferred_tools: [] })
    expect(namesOf(body)).toEqual(['find_tools', 'run_command'])
  })

  test('call_tool is offered for a definition that a compaction kept as text', async () => {
    const { ask } = await anAnthropic()
    const { status, body } = await ask({
      messages: [question, ...finds(['set_cron'])],
      deferred_tools: ['set_cron', 'vault_list'].map((name) => aFunction(name)),
    })
    expect(status).toBe(200)
    expect(namesOf(body)).toContain('call_tool')
  })

  test('a reference without a definition, and to a tool of the prompt, is sent as text', async () => {
    const { ask } = await anAnthropic()
    const { status, body } = await ask({
      messages: [question, ...finds(['gone']), ...finds(['run_command'])],
      deferred_tools: [aFunction('run_command')],
    })
    expect(status).toBe(200)
    expect(JSON.stringify(body)).not.toMatch(/tool_reference|defer_loading/)
    expect(JSON.stringify(body['messages'])).toContain('gone')
  })

  test('only the first result with a tool refers to it, so a prompt has no more definitions than its request', async () => {
    const { ask, upstream } = await anAnthropic()
    const { status, body } = await ask({
      messages: [
        question,
        ...finds(['set_cron']),
        ...finds(['set_cron', 'list_cron']),
        ...finds(['set_cron']),
      ],
      deferred_tools: [aFunction('set_cron', 'x'.repeat(10_000)), aFunction('list_cron')],
    })
    expect(status).toBe(200)
    expect(JSON.stringify(body).match(/"tool_reference"/g)).toHaveLength(2)
    expect(upstream.bills().at(-1)?.tokens).toBeLessThan(JSON.stringify(body).length / 4 + 100)
  })

  test('a cache mark of a result stays on the result, and no deferred tool gets one', async () => {
    const { ask } = await anAnthropic()
    const [call, result = {}] = finds(['set_cron'])
    const marked = { ...result, content: [{ type: 'text', text: 'x', ...mark }] }
    const { status, body } = await ask({
      messages: [question, call, marked],
      tools: core.map((tool, at) => (at === core.length - 1 ? { ...tool, ...mark } : tool)),
      deferred_tools: [aFunction('set_cron')],
    })
    expect(status).toBe(200)
    expect((body['tools'] as object[]).at(-1)).not.toHaveProperty('cache_control')
    expect(JSON.stringify(body['messages'])).toMatch(/"tool_reference".*"cache_control"/)
  })

  test.each([
    'tools.2.custom.defer_loading: Extra inputs are not permitted',
    "messages.2.content.0.tool_result.content.0: Input tag 'tool_reference' found using 'type' does not match any of the expected tags: 'document', 'image', 'search_result', 'text'",
    "Tool reference 'set_cron' not found in available tools",
  ])('a model that rejects them gets the text and call_tool, from then on at once: %s', async (refusal) => {
    const { ask, upstream } = await anAnthropic((body) =>
      JSON.stringify(body).includes('defer_loading') ? refusal : null,
    )
    const messages = [question, ...finds(['set_cron'])]
    const first = await ask({ messages, deferred_tools: [aFunction('set_cron')] })
    expect(first.status).toBe(200)
    expect(namesOf(first.body)).toEqual(['call_tool', 'find_tools', 'run_command'])
    expect(JSON.stringify(first.body)).toContain('Call these with call_tool')
    const count = upstream.bodies().length
    expect(count).toBe(2)
    const other = await ask({
      messages: [question, ...finds(['vault_list'])],
      deferred_tools: [aFunction('vault_list')],
    })
    expect(other.status).toBe(200)
    expect(upstream.bodies()).toHaveLength(count + 1)
  })
})

const tool = fc.constantFrom('set_cron', 'list_cron', 'vault_list', 'read_blackboard', 'mcp:a.b')
const round = fc.record({
  found: fc.uniqueArray(tool, { maxLength: 3 }),
  note: fc.string({ maxLength: 20 }),
  said: fc.string({ minLength: 1, maxLength: 20 }),
})

test('two rounds of one conversation share all bytes of the prompt up to the new messages, also with references', async () => {
  const { ask } = await anAnthropic()
  await fc.assert(
    fc.asyncProperty(fc.array(round, { minLength: 1, maxLength: 4 }), async (rounds) => {
      const messages: object[] = [question]
      const known = new Set<string>()
      let before = ''
      for (const { found, note, said } of rounds) {
        // The agent describes each tool once.
        const names = found.filter((name) => !known.has(name))
        for (const name of names) known.add(name)
        messages.push(...(names.length === 0 ? [] : finds(names, note)), {
          role: 'user',
          content: `say ${said}`,
        })
        const { status, body } = await ask({
          messages,
          deferred_tools: [...known].map((name) => aFunction(name)),
        })
        expect(status).toBe(200)
        expect(namesOf(body)).not.toContain('call_tool')
        const now = expandedPrompt(body)
        const parts = (now['messages'] as { role: string; content: unknown[] }[]).flatMap(
          ({ role, content }) => content.map((part) => [role, part]),
        )
        const bytes = JSON.stringify([now['tools'], now['system'], ...parts]).slice(0, -1)
        expect(bytes.startsWith(before)).toBe(true)
        before = bytes
      }
    }),
    { numRuns: 30 },
  )
})
