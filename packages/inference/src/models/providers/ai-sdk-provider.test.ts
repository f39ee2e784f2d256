import { describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../../tests/verifies.ts'
import type { WireKind } from '../../../../../tests/support/model-wires.ts'
import { startWireUpstream, weatherCall } from '../../../../../tests/support/wire-upstream.ts'
import { randomId, systemClock } from '../../../../foundation/src/platform/system-clock.ts'
import { createSecret } from '../../../../egress/src/credentials/secret.ts'
import goldenRequests from '../../../../../tests/support/golden-requests.json' with { type: 'json' }
import { createAiSdkProvider } from './ai-sdk-provider.ts'
import type { SdkKind } from './ai-sdk/sdk-rules.ts'
import { describeLlmProvider } from '../llm-provider.conformance.ts'
import type { LlmProvider } from '../llm-provider.ts'

const models: Readonly<Record<SdkKind, { wire: WireKind; model: string }>> = {
  anthropic: { wire: 'anthropic', model: 'claude-haiku-4-5' },
  google: { wire: 'google', model: 'gemini-2.5-flash' },
  mistral: { wire: 'mistral', model: 'mistral-large-latest' },
  cohere: { wire: 'cohere', model: 'command-a-03-2025' },
  bedrock: { wire: 'bedrock', model: 'anthropic.claude-sonnet-4-20250514-v1:0' },
  azure: { wire: 'openai', model: 'gpt-4o' },
  openai: { wire: 'responses', model: 'gpt-5-mini' },
}
const kinds = Object.keys(models) as SdkKind[]

function aProvider(kind: SdkKind, baseUrl: string): LlmProvider {
  return createAiSdkProvider({
    kind,
    baseUrl,
    apiKey: createSecret('key', 'sk-upstream-key-0123456789'),
    aws: { region: 'us-east-1', accessKeyId: null, secretAccessKey: null, sessionToken: null },
    clock: systemClock,
    newId: randomId,
  })
}

async function aHarness(kind: SdkKind) {
  const upstream = await startWireUpstream(models[kind].wire)
  const provider = aProvider(kind, upstream.baseUrl)
  return {
    upstream,
    provider,
    model: models[kind].model,
    close: async () => {
      await provider.close()
      await upstream.close()
    },
  }
}

const tools = [
  {
    type: 'function',
    function: {
      name: 'get_weather',
      parameters: { type: 'object', properties: { city: { type: 'string' } } },
    },
  },
]

async function ask(
  harness: Awaited<ReturnType<typeof aHarness>>,
  content: string,
  more: Record<string, unknown> = {},
) {
  const parameters = { messages: [{ role: 'user', content }], tools, max_tokens: 9000, ...more } as never
  const reply = await harness.provider.complete(
    {
      form: 'chat',
      agentId: 'scout',
      model: harness.model,
      stream: more['stream'] === true,
      parameters,
      body: JSON.stringify(parameters),
    },
    { signal: new AbortController().signal },
  )
  return { reply, text: Buffer.concat(await Array.fromAsync(reply.body)).toString() }
}

/** Joins the answer of a stream as a client does. */
function joined(text: string) {
  const chunks = text
    .split('\n\n')
    .filter((event) => event.startsWith('data: {'))
    .map((event) => JSON.parse(event.slice(6)) as Chunk)
  const deltas = chunks.flatMap((chunk) => chunk.choices.map((choice) => choice.delta))
  return {
    content: deltas.map((delta) => delta.content ?? '').join(''),
    thought: deltas.map((delta) => delta.reasoning_content ?? '').join(''),
    details: deltas.flatMap((delta) => delta.reasoning_details ?? []),
    arguments: deltas
      .flatMap((delta) => delta.tool_calls ?? [])
      .map((call) => call.function.arguments)
      .join(''),
    name: deltas.flatMap((delta) => delta.tool_calls ?? [])[0]?.function.name,
    finish: chunks
      .flatMap((chunk) => chunk.choices.map((choice) => choice.finish_reason))
      .findLast((one) => one),
    usage: chunks.findLast((chunk) => chunk.usage)?.usage,
  }
}

interface Chunk {
  choices: {
    delta: {
      content?: string
      reasoning_content?: string
      reasoning_details?: object[]
      tool_calls?: { function: { name?: string; arguments: string } }[]
    }
    finish_reason: string | null
  }[]
  usage?: object
}

const told = {
  prompt_tokens: 12,
  completion_tokens: 30,
  total_tokens: 42,
  prompt_tokens_details: { cached_tokens: 4 },
}

for (const kind of kinds) {
  describeLlmProvider(`${kind} behind the AI SDK`, () => aHarness(kind))

  describe(`${kind} behind the AI SDK`, () => {
    test(`${kind} behind the AI SDK calls tools, whole and streamed, with the same usage both ways`, async () => {
      heedsLesson(88)
      const harness = await aHarness(kind)
      const whole = JSON.parse((await ask(harness, 'weather')).text) as {
        choices: { message: Record<string, unknown>; finish_reason: string }[]
        usage: object
      }
      const streamed = joined((await ask(harness, 'weather', { stream: true })).text)
      const [choice] = whole.choices
      expect(choice?.finish_reason).toBe('tool_calls')
      expect(choice?.message['tool_calls']).toMatchObject([
        { type: 'function', function: { name: 'get_weather' } },
      ])
      const [call] = (choice?.message['tool_calls'] ?? []) as { function: { arguments: string } }[]
      expect(JSON.parse(call?.function.arguments ?? '')).toEqual(weatherCall.input)
      expect(choice?.message['content']).toBe('I look.')
      expect(streamed).toMatchObject({ name: 'get_weather', finish: 'tool_calls', content: 'I look.' })
      expect(JSON.parse(streamed.arguments)).toEqual(weatherCall.input)
      // Cohere's package does not read the number of cached tokens.
      const cached = kind === 'cohere' ? { prompt_tokens_details: { cached_tokens: 0 } } : {}
      expect(whole.usage).toMatchObject({ ...told, ...cached })
      expect(streamed.usage).toEqual(whole.usage)
      await harness.close()
    })

    test(`${kind} behind the AI SDK hands a refusal on as the reply that it was, without the key`, async () => {
      const harness = await aHarness(kind)
      const limited = await ask(harness, 'status-429', { stream: true })
      expect(limited.reply).toMatchObject({ status: 429, retryAfterSeconds: 3 })
      expect(limited.text).toContain('too many')
      for (const status of [400, 404, 500]) {
        expect((await ask(harness, `status-${status}`)).reply.status).toBe(status)
      }
      await harness.close()
    })

    test.each(['break', 'overload', 'stop'])(
      `${kind} behind the AI SDK never ends a stream that fails as if it were whole (%s)`,
      async (words) => {
        const harness = await aHarness(kind)
        await expect(ask(harness, words, { stream: true })).rejects.toMatchObject({ code: 'upstream-failed' })
        await harness.close()
      },
    )

    test(`${kind} behind the AI SDK refuses what it cannot carry instead of leaving it out`, async () => {
      heedsLesson(16)
      const harness = await aHarness(kind)
      for (const more of [{ n: 2 }, { logprobs: true }, { logit_bias: { 1: 2 } }]) {
        await expect(ask(harness, 'hi', more)).rejects.toMatchObject({ code: 'bad-request' })
      }
      expect(harness.upstream.calls).toHaveLength(0)
      await harness.close()
    })
  })
}

describe('thinking', () => {
  test.each(['anthropic', 'bedrock'] as const)(
    'thinking of %s is received with its signature and sent back with it',
    async (kind) => {
      const harness = await aHarness(kind)
      const { details, thought, content } = joined(
        (await ask(harness, 'think', { stream: true, reasoning_effort: 'low' })).text,
      )
      expect({ thought, content }).toEqual({ thought: 'Two and two.', content: 'Four' })
      const messages = [
        { role: 'user', content: 'think' },
        { role: 'assistant', content: 'Four', reasoning_details: details },
        { role: 'user', content: 'hi' },
      ]
      await ask(harness, '', { messages })
      expect(JSON.stringify(harness.upstream.calls.at(-1)?.body)).toContain('"signature":"c2lnbmVkLWJ5LW1l"')
      await harness.close()
    },
  )

  test('thinking of google is attached to the call and sent back with it', async () => {
    const harness = await aHarness('google')
    const { details } = joined((await ask(harness, 'plan', { stream: true })).text)
    const sealed = details.find((detail) => 'id' in detail) as { id: string } | undefined
    const call = { id: sealed?.id, type: 'function', function: { name: 'get_weather', arguments: '{}' } }
    const messages = [
      { role: 'user', content: 'plan' },
      { role: 'assistant', content: null, tool_calls: [call], reasoning_details: details },
      { role: 'tool', tool_call_id: sealed?.id, content: 'sunny' },
    ]
    await ask(harness, '', { messages })
    expect(JSON.stringify(harness.upstream.calls.at(-1)?.body['contents'])).toContain(
      '"thoughtSignature":"c2lnbmVkLWJ5LW1l"',
    )
    await harness.close()
  })

  test('encrypted thinking of openai is received and sent back before what it was for', async () => {
    for (const stream of [true, false]) {
      const harness = await aHarness('openai')
      const { text } = await ask(harness, 'plan', { stream })
      const details: { format?: string; data?: string }[] = stream
        ? joined(text).details
        : JSON.parse(text).choices[0].message.reasoning_details
      expect(details.filter(({ data }) => data)).toEqual([
        { type: 'reasoning.encrypted', data: 'c2lnbmVkLWJ5LW1l', format: 'openai-responses-v1' },
      ])
      const call = {
        id: weatherCall.id,
        type: 'function',
        function: { name: 'get_weather', arguments: '{}' },
      }
      const foreign = { type: 'reasoning.encrypted', data: 'other', format: 'azure-openai-responses-v1' }
      const messages = [
        { role: 'user', content: 'plan' },
        { role: 'assistant', content: null, tool_calls: [call], reasoning_details: [foreign, ...details] },
        { role: 'tool', tool_call_id: weatherCall.id, content: 'sunny' },
      ]
      await ask(harness, '', { messages })
      expect(harness.upstream.calls.at(-1)?.body).toMatchObject({
        store: false,
        include: ['reasoning.encrypted_content'],
      })
      expect(harness.upstream.calls.at(-1)?.body['input']).toEqual([
        { role: 'user', content: [{ type: 'input_text', text: 'plan' }] },
        { type: 'reasoning', encrypted_content: 'c2lnbmVkLWJ5LW1l', summary: [] },
        { type: 'function_call', call_id: weatherCall.id, name: 'get_weather', arguments: '{}' },
        { type: 'function_call_output', call_id: weatherCall.id, output: 'sunny' },
      ])
      await harness.close()
    }
  })

  test('sealed by another provider is not sent', async () => {
    const harness = await aHarness('anthropic')
    const foreign = { type: 'reasoning.text', text: 'x', signature: 'other', format: 'google-gemini-v1' }
    const messages = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'ho', reasoning_details: [foreign] },
      { role: 'user', content: 'hi' },
    ]
    await ask(harness, '', { messages })
    expect(JSON.stringify(harness.upstream.calls.at(-1)?.body)).not.toContain('other')
    await harness.close()
  })

  test.each([
    ['anthropic', 'max_tokens'],
    ['bedrock', 'maxTokens'],
  ] as const)(
    'thinking and the words of %s stay together within the bound that is paid for',
    async (kind, field) => {
      const harness = await aHarness(kind)
      for (const reasoning_effort of ['low', 'high']) {
        await ask(harness, 'hi', { reasoning_effort, max_tokens: 4000 })
        const body = JSON.stringify(harness.upstream.calls.at(-1)?.body)
        expect(body).toContain(`"${field}":4000`)
        expect(body).toContain('budget_tokens')
      }
      await ask(harness, 'hi', { reasoning_effort: 'high', max_tokens: 100 })
      expect(JSON.stringify(harness.upstream.calls.at(-1)?.body)).toContain(`"${field}":100`)
      await harness.close()
    },
  )
})

test.each(['../../v1beta/files', 'm?key=other', 'm#', 'm%2f..', 'a b', ''])(
  'a name that would lead a request elsewhere is refused: %j',
  async (model) => {
    const harness = await aHarness('google')
    await expect(ask({ ...harness, model }, 'hi')).rejects.toMatchObject({ code: 'bad-request' })
    expect(harness.upstream.calls).toHaveLength(0)
    await harness.close()
  },
)

test('an answer of more pieces than a package makes objects of in a moment is refused before it does', async () => {
  const harness = await aHarness('google')
  const answerOf = (pieces: number) => ({
    candidates: [
      {
        content: { role: 'model', parts: Array.from({ length: pieces }, () => ({ text: 'x' })) },
        finishReason: 'STOP',
      },
    ],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: pieces, totalTokenCount: 1 + pieces },
  })
  let pieces = 0
  harness.upstream.answerWith((_call, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answerOf(pieces)))
  })
  pieces = 2000
  expect(JSON.parse((await ask(harness, 'hi')).text)).toMatchObject({
    choices: [{ message: { content: 'x'.repeat(2000) } }],
  })
  pieces = 20_000
  await expect(ask(harness, 'hi')).rejects.toMatchObject({
    code: 'upstream-failed',
    detail: expect.stringContaining('more than 20000 names'),
  })
  await harness.close()
})

test('a key, and nothing of the environment, is what a package goes out with', async () => {
  const harness = await aHarness('bedrock')
  await ask(harness, 'hi')
  expect(harness.upstream.calls[0]?.headers.authorization).toBe('Bearer sk-upstream-key-0123456789')
  await harness.close()
})

test('Amazon is asked with a signature where the owner gave an access key', async () => {
  const upstream = await startWireUpstream('bedrock')
  const provider = createAiSdkProvider({
    kind: 'bedrock',
    baseUrl: upstream.baseUrl,
    apiKey: null,
    aws: {
      region: 'eu-central-1',
      accessKeyId: createSecret('a', 'AKIDEXAMPLE'),
      secretAccessKey: createSecret('b', 'wJalrXUtnFEMI/K7MDENG'),
      sessionToken: null,
    },
    clock: systemClock,
    newId: randomId,
  })
  const close = async () => {
    await provider.close()
    await upstream.close()
  }
  await ask({ upstream, provider, model: models.bedrock.model, close }, 'hi')
  expect(upstream.calls[0]?.headers.authorization).toMatch(
    /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-central-1\/bedrock\/aws4_request/,
  )
  expect(JSON.stringify(upstream.calls)).not.toContain('wJalrXUtnFEMI')
  await close()
})

describe('the golden request', () => {
  const request = {
    messages: [
      {
        role: 'system',
        content: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '1h' } }],
      },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'hi' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } },
        ],
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'toolu_01', type: 'function', function: { name: 'look around', arguments: '{"a":1}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'toolu_01', content: 'dark' },
    ],
    tools: [
      {
        type: 'function',
        function: {
          name: 'look around',
          parameters: { type: 'object', properties: { a: { type: ['integer', 'null'] } } },
        },
      },
    ],
    tool_choice: { type: 'function', function: { name: 'look around' } },
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } },
    parallel_tool_calls: false,
    max_completion_tokens: 5000,
    temperature: 0.5,
    stop: 'END',
    seed: 7,
    reasoning_effort: 'low',
    user: 'u1',
  }

  test.each(kinds)('the request to %s is the recorded one', async (kind) => {
    const harness = await aHarness(kind)
    await ask(harness, '', { ...request, stream: true })
    const { path, body } = harness.upstream.calls[0] ?? {}
    expect({ path, body }).toEqual(goldenRequests[kind])
    await harness.close()
  })
})
