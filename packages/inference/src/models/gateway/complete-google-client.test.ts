import { ApiError, GoogleGenAI, ThinkingLevel, Type } from '@google/genai'
import type { Content, GenerateContentConfig, GenerateContentResponse } from '@google/genai'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { startLlmGateway } from '../../../../../tests/support/llm-gateway.ts'
import type { LlmGatewayUnderTest } from '../../../../../tests/support/llm-gateway.ts'
import { answerStream } from '../../../../../tests/support/llm-upstream.ts'
import type { WireKind } from '../../../../../tests/support/model-wires.ts'
import { weatherCall } from '../../../../../tests/support/wire-upstream.ts'

const weather = {
  functionDeclarations: [
    {
      name: 'get_weather',
      description: 'Returns the weather',
      parameters: { type: Type.OBJECT, properties: { city: { type: Type.STRING, nullable: true } } },
    },
  ],
}
const picture = 'iVBORw0KGgo='

/** The official client with each wire format behind the gateway; the gateway translates all of them. */
const cases: readonly { wire: WireKind; model: string }[] = [
  { wire: 'openai', model: 'deepseek/m' },
  { wire: 'anthropic', model: 'anthropic/claude-haiku-4-5' },
  { wire: 'google', model: 'google/gemini-2.5-flash' },
  { wire: 'bedrock', model: 'bedrock/anthropic.claude-sonnet-4-20250514-v1:0' },
]

async function joined(stream: AsyncIterable<GenerateContentResponse>) {
  const parts: NonNullable<Content['parts']> = []
  let last: GenerateContentResponse | null = null
  for await (const chunk of stream) {
    parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []))
    last = chunk
  }
  const shown = parts.filter((part) => part.thought !== true)
  return { parts, last, text: shown.map((part) => part.text ?? '').join('') }
}

describe.each(cases)('the official Google client at $model', ({ wire, model }) => {
  let gateway: LlmGatewayUnderTest
  let client: GoogleGenAI
  beforeAll(async () => {
    gateway = await startLlmGateway(wire, model)
    client = new GoogleGenAI({ apiKey: 'scout', httpOptions: { baseUrl: gateway.rootUrl } })
  })
  afterAll(() => gateway.close())

  const asked = (contents: string | Content[], config: GenerateContentConfig = {}) => ({
    model,
    contents,
    config: { maxOutputTokens: 9000, ...config },
  })
  const ask = (contents: string | Content[], config?: GenerateContentConfig) =>
    client.models.generateContent(asked(contents, config))
  const streamed = async (contents: string | Content[], config?: GenerateContentConfig) =>
    joined(await client.models.generateContentStream(asked(contents, config)))
  const sent = () => JSON.stringify(gateway.upstream.calls.at(-1)?.body)

  test('a whole answer has its text and its usage', async () => {
    const answer = await ask('hi')
    expect(answer.text).toBe('Hello there')
    expect(answer.candidates).toMatchObject([{ finishReason: 'STOP', content: { role: 'model' } }])
    expect(answer.usageMetadata).toMatchObject({
      promptTokenCount: 12,
      cachedContentTokenCount: 4,
      totalTokenCount: 42,
    })
    expect(answer.modelVersion).toBe(model.slice(model.indexOf('/') + 1))
  })

  test('a streamed answer ends with the same content, and both cost the same', async () => {
    const before = gateway.spentNano()
    await ask('hi')
    const whole = gateway.spentNano() - before
    const { text, last } = await streamed('hi')
    expect(text).toBe('Hello there')
    expect(last?.candidates?.[0]?.finishReason).toBe('STOP')
    expect(last?.usageMetadata).toMatchObject({ totalTokenCount: 42 })
    expect(gateway.spentNano() - before - whole).toBe(whole)
    expect(whole).toBeGreaterThan(0)
  })

  test('a tool is called in a stream and gets its result back, with and without the id of the call', async () => {
    const turn: Content = { role: 'user', parts: [{ text: 'weather' }] }
    const called = await streamed([turn], { tools: [weather] })
    const call = called.parts.find(({ functionCall }) => functionCall)?.functionCall
    expect(call).toMatchObject({ name: 'get_weather', args: weatherCall.input })
    expect(call?.id).toMatch(/./)
    expect(sent()).toMatch(/"type":(?:\["string","null"\]|"string")/)
    const withoutId = called.parts.map(({ functionCall, ...part }) =>
      functionCall === undefined
        ? part
        : { ...part, functionCall: { name: functionCall.name ?? '', args: functionCall.args ?? {} } },
    )
    for (const [parts, id] of [
      [called.parts, call?.id],
      [withoutId, undefined],
    ] as const) {
      const result = {
        name: 'get_weather',
        response: { output: 'sunny' },
        ...(id === undefined ? {} : { id }),
      }
      const answer = await ask(
        [turn, { role: 'model', parts }, { role: 'user', parts: [{ functionResponse: result }] }],
        { tools: [weather] },
      )
      expect(answer.text).toBe('It says: sunny')
    }
  })

  test('a chat of the client keeps its turns', async () => {
    const chat = client.chats.create({
      model,
      config: { maxOutputTokens: 9000, systemInstruction: 'Be short.' },
    })
    expect((await joined(await chat.sendMessageStream({ message: 'think' }))).text).toBe('Four')
    expect((await chat.sendMessage({ message: 'hi' })).text).toBe('Hello there')
    expect(sent()).toContain('Four')
    expect(sent()).toContain('Be short.')
  })

  test('a picture and a schema for the answer reach the provider', async () => {
    const inlineData = { mimeType: 'image/png', data: picture }
    await ask([{ role: 'user', parts: [{ inlineData }, { text: 'hi' }] }])
    expect(sent()).toContain(picture)
    const schema = { type: Type.OBJECT, properties: { a: { type: Type.STRING } }, required: ['a'] }
    await ask('hi', { responseMimeType: 'application/json', responseSchema: schema })
    expect(sent()).toMatch(/"required":\["a"\]/)
    await ask('hi', {
      responseMimeType: 'application/json',
      responseJsonSchema: { ...schema, type: 'object' },
    })
    expect(sent()).toMatch(/"required":\["a"\]/)
  })

  test('thinking comes as parts if asked for, and its signature returns to its provider without them', async () => {
    const config = { thinkingConfig: { includeThoughts: true, thinkingBudget: 2000 } }
    const thought = await streamed('think', config)
    expect(thought.text).toBe('Four')
    expect(thought.parts.filter((part) => part.thought).map(({ text }) => text)).toEqual(['Two and two.'])
    const hidden = await streamed('think', { thinkingConfig: { thinkingLevel: ThinkingLevel.MEDIUM } })
    expect(hidden.parts.some((part) => part.thought)).toBe(false)
    for (const { parts } of [thought, hidden]) {
      const kept = parts.filter((part) => part.thought !== true)
      const again = await ask([
        { role: 'user', parts: [{ text: 'think' }] },
        { role: 'model', parts: kept },
        { role: 'user', parts: [{ text: 'hi' }] },
      ])
      expect(again.text).toBe('Hello there')
      if (wire === 'anthropic' || wire === 'bedrock') expect(sent()).toContain('c2lnbmVkLWJ5LW1l')
    }
  })

  test('the signature of a call returns to its provider with the call', async () => {
    const turn: Content = { role: 'user', parts: [{ text: 'plan' }] }
    const config = { tools: [weather], thinkingConfig: { thinkingBudget: 2000 } }
    const called = await streamed([turn], config)
    const call = called.parts.find(({ functionCall }) => functionCall)
    expect(call?.thoughtSignature).toMatch(/^[A-Za-z0-9+/]+=*$/)
    const response = { name: 'get_weather', response: { output: 'sunny' } }
    await ask(
      [
        turn,
        { role: 'model', parts: call ? [call] : [] },
        { role: 'user', parts: [{ functionResponse: response }] },
      ],
      config,
    )
    if (wire !== 'openai') expect(sent()).toContain('c2lnbmVkLWJ5LW1l')
  })

  test('a signature that Google wrote itself stays as it is', async () => {
    const parts = [{ functionCall: { name: 'get_weather', args: {} }, thoughtSignature: 'b3du' }]
    const response = { name: 'get_weather', response: { output: 'sunny' } }
    await ask(
      [
        { role: 'user', parts: [{ text: 'weather' }] },
        { role: 'model', parts },
        { role: 'user', parts: [{ functionResponse: response }] },
      ],
      { tools: [weather] },
    )
    if (wire === 'google') expect(sent()).toContain('"thoughtSignature":"b3du"')
    else expect(sent()).not.toContain('b3du')
  })

  test.each([
    { words: 'status-400', status: 400, name: 'INVALID_ARGUMENT', reason: 'model-call-rejected' },
    { words: 'too-long', status: 400, name: 'INVALID_ARGUMENT', reason: 'prompt-too-long' },
    { words: 'status-401', status: 502, name: 'INTERNAL', reason: 'provider-refused' },
    { words: 'status-404', status: 404, name: 'NOT_FOUND', reason: 'model-unknown' },
    { words: 'status-429', status: 429, name: 'RESOURCE_EXHAUSTED', reason: 'rate-limited' },
    { words: 'status-500', status: 502, name: 'INTERNAL', reason: 'upstream-failed' },
    { words: 'status-529', status: 529, name: 'UNAVAILABLE', reason: 'model-overloaded' },
  ])('$words is reported as $status $name', async ({ words, status, name, reason }) => {
    const error = await ask(words).catch((thrown: unknown) => thrown)
    gateway.newKey()
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ status })
    const body: unknown = JSON.parse(error instanceof Error ? error.message : '')
    expect(body).toMatchObject({ error: { code: status, status: name, details: [{ reason }] } })
    expect(String(error)).not.toContain('sk-upstream-key')
  })

  test.each(['break', 'overload', 'stop'])('a stream that fails midway is an error (%s)', async (words) => {
    await expect(streamed(words)).rejects.toBeInstanceOf(ApiError)
  })

  test('a client that leaves ends the call at the provider', async () => {
    const leaving = new AbortController()
    const call = client.models
      .generateContentStream(asked('wait', { abortSignal: leaving.signal }))
      .catch((thrown: unknown) => thrown)
    await expect.poll(() => sent()).toContain('wait')
    leaving.abort()
    expect(await call).toMatchObject({ name: 'AbortError' })
    await gateway.upstream.calls.at(-1)?.closed
  })

  test('tokens are counted for nothing', async () => {
    const before = gateway.spentNano()
    const { totalTokens } = await client.models.countTokens({ model, contents: 'hi '.repeat(100) })
    expect(totalTokens).toBeGreaterThan(50)
    expect(gateway.spentNano()).toBe(before)
  })

  test('unknown members are dropped, and what is stored or runs at the provider is refused', async () => {
    await ask('hi', { labels: { a: 'b' }, safetySettings: [] })
    for (const name of ['labels', 'safetySettings']) expect(sent()).not.toContain(`"${name}"`)
    const calls = gateway.upstream.calls.length
    const refused: readonly [GenerateContentConfig, RegExp][] = [
      [{ cachedContent: 'cachedContents/1' }, /cachedContent: .*send the whole conversation/],
      [{ tools: [{ googleSearch: {} }] }, /googleSearch.*define a function tool/],
      [{ tools: [{ codeExecution: {} }] }, /codeExecution/],
      [{ tools: [{ urlContext: {} }] }, /urlContext/],
      [{ tools: [weather, { googleMaps: {} }] }, /googleMaps/],
      [{ candidateCount: 2 }, /candidateCount/],
      [{ responseModalities: ['IMAGE'] }, /responseModalities/],
      [
        { toolConfig: { functionCallingConfig: { allowedFunctionNames: ['other'] } } },
        /no tool of this call is named/,
      ],
    ]
    for (const [config, words] of refused) {
      const error = await ask('hi', config).catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ status: 400 })
      expect(String(error)).toMatch(words)
    }
    const file: Content = {
      role: 'user',
      parts: [{ fileData: { fileUri: 'files/1', mimeType: 'image/png' } }],
    }
    await expect(ask([file])).rejects.toThrow(/contents\[0\]\.parts\[0\]\.fileData: .*inlineData/)
    const result: Content = { role: 'model', parts: [{ executableCode: { code: '1' } }] }
    await expect(ask([result])).rejects.toThrow(/executableCode/)
    await expect(
      client.models.generateContent({ ...asked('hi'), model: 'google/other' }),
    ).rejects.toMatchObject({
      status: 403,
    })
    expect(gateway.upstream.calls).toHaveLength(calls)
  })

  test('other surfaces of the client are refused in one sentence that says what is offered', async () => {
    const offers =
      'POST /v1beta/models/{model}:generateContent, POST /v1beta/models/{model}:streamGenerateContent?alt=sse and POST /v1beta/models/{model}:countTokens'
    const other: readonly (() => PromiseLike<unknown>)[] = [
      () => client.models.embedContent({ model, contents: 'hi' }),
      () => client.models.get({ model }),
      () => client.files.list(),
      () => client.caches.create({ model, config: { contents: 'hi' } }),
      () => client.models.list(),
    ]
    for (const call of other) {
      const error = await Promise.resolve(call()).catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ status: 404 })
      expect(String(error)).toContain(`it offers ${offers}`)
    }
  })
})

describe('a stream in Google’s form', () => {
  const call = (gateway: LlmGatewayUnderTest, query: string) =>
    fetch(`${gateway.rootUrl}/v1beta/models/deepseek/m:streamGenerateContent${query}`, {
      method: 'POST',
      headers: { 'x-goog-api-key': 'scout', 'content-type': 'application/json' },
      body: JSON.stringify({ contents: [{ parts: [{ text: 'hi' }] }] }),
    })

  test('a silent stream gets pieces with an empty text and no comment, which the client for Python cannot read', async () => {
    const gateway = await startLlmGateway('openai', 'deepseek/m', { keepAliveMs: 20 })
    onTestFinished(() => gateway.close())
    const released = Promise.withResolvers<void>()
    gateway.upstream.answerWith(async (asked, response) => {
      await released.promise
      answerStream(asked, response)
    })
    const reply = await call(gateway, '?alt=sse')
    const reader = (reply.body ?? new ReadableStream<Uint8Array>())
      .pipeThrough(new TextDecoderStream())
      .getReader()
    const first = await reader.read()
    expect(first.value).toMatch(/^data: .*"parts":\[\{"text":""\}\]/)
    released.resolve()
    let text = first.value ?? ''
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) text += piece.value
    expect(text).toContain('Hello')
    expect(text.split('\n').filter((line) => line !== '' && !line.startsWith('data: {'))).toEqual([])
  })

  test('a stream in another form than events is refused with the repair', async () => {
    const gateway = await startLlmGateway('openai', 'deepseek/m')
    onTestFinished(() => gateway.close())
    const reply = await call(gateway, '')
    expect(reply.status).toBe(400)
    expect(await reply.text()).toContain('add ?alt=sse')
    expect(gateway.upstream.calls).toEqual([])
  })
})
