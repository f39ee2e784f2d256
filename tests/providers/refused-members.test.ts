import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { httpCall } from '../support/http-call.ts'
import { doorTokenOfScout, startLlmGateway } from '../support/llm-gateway.ts'
import type { LlmGatewayUnderTest } from '../support/llm-gateway.ts'
import { answerStream } from '../support/llm-upstream.ts'

const openai = (message: string, param: string | null, code: string | null) => ({
  error: { message, type: 'invalid_request_error', param, code },
})

/** A member that a model refuses, the sent value, and the provider's refusal. */
const rows: readonly (readonly [member: string, sent: unknown, refusal: unknown])[] = [
  [
    'temperature',
    0.5,
    openai(
      "Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is supported.",
      'temperature',
      'unsupported_value',
    ),
  ],
  [
    'top_p',
    0.5,
    openai(
      "Unsupported parameter: 'top_p' is not supported with this model.",
      'top_p',
      'unsupported_parameter',
    ),
  ],
  [
    'temperature',
    0.5,
    {
      type: 'error',
      error: { type: 'invalid_request_error', message: '`temperature` is deprecated for this model.' },
    },
  ],
  [
    'top_p',
    0.5,
    {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: '`temperature` and `top_p` cannot both be specified for this model. Please use only one.',
      },
    },
  ],
  [
    'max_tokens',
    100,
    openai(
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      'max_tokens',
      'unsupported_parameter',
    ),
  ],
  [
    'max_completion_tokens',
    100,
    {
      object: 'error',
      message:
        "[{'type': 'extra_forbidden', 'loc': ('body', 'max_completion_tokens'), 'msg': 'Extra inputs are not permitted'}]",
    },
  ],
  [
    'parallel_tool_calls',
    false,
    openai(
      "Unsupported parameter: 'parallel_tool_calls' is not supported with this model.",
      'parallel_tool_calls',
      'unsupported_parameter',
    ),
  ],
  [
    'stream_options',
    undefined,
    {
      detail: [
        { type: 'extra_forbidden', loc: ['body', 'stream_options'], msg: 'Extra inputs are not permitted' },
      ],
    },
  ],
  ['reasoning_effort', 'low', openai('Unrecognized request argument supplied: reasoning_effort', null, null)],
  [
    'tool_choice',
    'auto',
    {
      error: {
        message: 'deepseek-reasoner does not support this tool_choice',
        type: 'invalid_request_error',
      },
    },
  ],
  [
    'presence_penalty',
    0.1,
    {
      code: 'Client specified an invalid argument',
      error: 'Argument not supported on this model: presence_penalty',
    },
  ],
  ['seed', 7, { error: { message: "property 'seed' is unsupported" } }],
  ['user', 'u1', openai('Unrecognized request argument supplied: user', 'user', null)],
]

const unhealed = [
  [
    'names nothing that may be missing',
    () => openai("Unsupported parameter: 'messages' is not supported.", 'messages', 'unsupported_parameter'),
  ],
  [
    'names both bounds in turn',
    (body: Record<string, unknown>) => {
      const name = body['max_tokens'] === undefined ? 'max_completion_tokens' : 'max_tokens'
      return openai(`Unsupported parameter: '${name}'`, name, 'unsupported_parameter')
    },
  ],
  ['names the same member for ever', () => rows[0]?.[2]],
  [
    'is of a value that must be there',
    () => openai('temperature must be at most 2', 'temperature', 'invalid_value'),
  ],
] as const

/** Each row has a model of its own, since what is learnt about a model is remembered. */
const modelOfRow = (index: number) => `lab/m${index}`
const names = [
  'lab/m',
  'lab/tools',
  'lab/own',
  ...['quoted', 'nested', 'choice', 'value', 'form', 'bound', 'twice', 'wrong'].map((name) => `lab/${name}`),
  'lab/translated',
  ...rows.map((_row, index) => modelOfRow(index)),
  ...unhealed.map((_row, index) => modelOfRow(100 + index)),
  ...['tool', 'response format', 'server without codes'].map((where) => modelOfRow(200 + where.length)),
]

describe('a member that a model refuses', () => {
  let gateway: LlmGatewayUnderTest
  let bodies: Record<string, unknown>[] = []
  let refusals = 0
  const price = { input_per_mtok: 0.001, output_per_mtok: 0.001 }
  beforeAll(async () => {
    gateway = await startLlmGateway('openai', 'lab/m', {
      models: names,
      settings: { models: Object.fromEntries(names.map((name) => [name, { price }])) },
    })
  })
  afterAll(() => gateway.close())
  beforeEach(() => {
    bodies = []
    refusals = 0
  })

  function refuseWhere(isRefused: (body: Record<string, unknown>) => unknown): void {
    gateway.upstream.answerWith((call, response) => {
      bodies.push(call.body)
      const refusal = isRefused(call.body)
      if (refusal === null) return answerStream(call, response)
      refusals += 1
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end(JSON.stringify(refusal))
    })
  }

  const tools = [
    {
      type: 'function',
      function: {
        name: 'look',
        parameters: { type: 'object', properties: {}, additionalProperties: false },
        strict: true,
      },
    },
  ]
  const ask = (model: string, more: object, token = doorTokenOfScout) =>
    httpCall({
      method: 'POST',
      url: `${gateway.rootUrl}/v1/chat/completions`,
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'x-run-id': 'run_0000000000000001',
        'x-run-fence': '1',
      },
      body: JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'hi' }], ...more }),
    })

  test.each(rows)('%s is left out, and not sent to the model again', async (member, sent, refusal) => {
    refuseWhere((body) => (body[member] === undefined ? null : refusal))
    const model = modelOfRow(rows.findIndex((row) => row[2] === refusal))
    const more = { tools, ...(sent === undefined ? {} : { [member]: sent }) }
    for (const calls of [2, 3]) {
      const reply = await ask(model, more)
      expect(reply.status, reply.text).toBe(200)
      expect(reply.text).toContain('Hello')
      expect(bodies).toHaveLength(calls)
    }
    expect(refusals).toBe(1)
    const other = { max_tokens: 'max_completion_tokens', max_completion_tokens: 'max_tokens' }[member]
    if (other !== undefined) expect(bodies.at(-1)).toMatchObject({ [other]: sent })
  })

  test('a member that a model refuses of a tool or a message is left out there', async () => {
    refuseWhere((body) => {
      if (JSON.stringify(body).includes('"strict"'))
        return openai(
          "Unknown parameter: 'tools[0].function.strict'.",
          'tools[0].function.strict',
          'unknown_parameter',
        )
      return null
    })
    expect((await ask('lab/tools', { tools })).status).toBe(200)
    expect(bodies.at(-1)).toMatchObject({ tools: [{ function: { name: 'look' } }] })
  })

  test.each([
    [
      'tool',
      'tools[0].function.parameters',
      "Invalid schema for function 'look': In context=(), 'additionalProperties' is required to be supplied and to be false.",
      'invalid_function_parameters',
    ],
    [
      'response format',
      'response_format',
      "Invalid schema for response_format 'answer': In context=('properties', 'at'), 'default' is not permitted.",
      'invalid_json_schema',
    ],
    ['server without codes', null, 'JSON schema keyword minLength is not supported in strict mode', null],
  ])(
    'a schema that a model refuses is sent without strictness, of a %s',
    async (...[where, param, says, code]) => {
      refuseWhere((body) =>
        JSON.stringify(body).includes('"strict":true') ? openai(says, param, code) : null,
      )
      const { parameters: schema } = tools[0]!.function
      const model = modelOfRow(200 + where.length)
      const format = { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } }
      for (const calls of [2, 3]) {
        const reply = await ask(model, { tools, response_format: format })
        expect(reply.status, reply.text).toBe(200)
        expect(bodies).toHaveLength(calls)
      }
      expect(bodies.at(-1)).toMatchObject({
        tools: [{ function: { name: 'look', parameters: schema } }],
        response_format: { json_schema: { strict: false, schema } },
      })
    },
  )

  test('a refused member in the request of a program in this very format is reported to the program', async () => {
    refuseWhere(() => rows[0]?.[2])
    const reply = await ask('lab/own', { temperature: 0.5 }, 'scout')
    expect(reply.status).toBe(400)
    expect(bodies).toHaveLength(1)
  })

  test('a member that a model refuses of a translated message is left out as well', async () => {
    refuseWhere((body) => (body['temperature'] === undefined ? null : rows[0]?.[2]))
    const reply = await httpCall({
      method: 'POST',
      url: `${gateway.rootUrl}/v1/messages`,
      headers: { authorization: 'Bearer scout', 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'lab/translated',
        stream: true,
        max_tokens: 10,
        temperature: 0.5,
        messages: [{ role: 'user', content: 'hi' }],
      }),
    })
    expect(reply.status, reply.text).toBe(200)
    expect(refusals).toBe(1)
  })

  test.each(unhealed)(
    'a member that a model refuses ends the call in words where the refusal %s',
    async (what, refusal) => {
      refuseWhere(refusal)
      const reply = await ask(modelOfRow(100 + unhealed.findIndex(([name]) => name === what)), {
        temperature: 0.5,
        max_tokens: 10,
      })
      expect(reply.status).toBe(400)
      expect(reply.text).toMatch(/nsupported|at most 2/)
      expect(bodies.length).toBeLessThanOrEqual(2)
    },
  )

  const everything = {
    tool_choice: 'auto',
    parallel_tool_calls: false,
    temperature: 0.5,
    reasoning_effort: 'low',
    max_tokens: 10,
  }
  const described = (description: string) => [
    {
      type: 'function',
      function: { name: 'look', description, parameters: { type: 'object', properties: {} } },
    },
  ]
  const descriptionOf = (body: Record<string, unknown>) =>
    (body['tools'] as { function: { description: string } }[] | undefined)?.[0]?.function.description ??
    'plain'

  test.each([
    ['a Python server', (text: string) => `'${text}' is not valid under any of the given schemas`],
    ['a server with a rejection of its own', (text: string) => `Tool is not supported: ${text}`],
    [
      'a server that repeats the request',
      (text: string) => `[{'msg': 'bad', 'input': {'description': "${text}"}}]`,
    ],
  ])('a refused member is not learnt from words of the caller that %s quotes', async (_server, quote) => {
    refuseWhere((body) => {
      const text = descriptionOf(body)
      return text === 'plain' ? null : openai(quote(text), null, null)
    })
    const list = 'unsupported: max_tokens, temperature, tool_choice, parallel_tool_calls, reasoning_effort'
    const refused = await ask('lab/quoted', { tools: described(list), ...everything })
    expect(refused.status).toBe(400)
    expect(bodies.length).toBeLessThanOrEqual(2)
    expect((await ask('lab/quoted', { tools: described('plain'), ...everything })).status).toBe(200)
    expect(bodies.at(-1)).toMatchObject(everything)
  })

  test.each([
    'tools[0].function.parameters.properties.temperature',
    'tools.0.temperature',
    'messages[0].user',
  ])(
    'a refused member is not learnt from the path %s, which leads into the text of the caller',
    async (param) => {
      refuseWhere((body) =>
        body['tools'] === undefined ? null : openai('not supported', param, 'unsupported_parameter'),
      )
      expect((await ask('lab/nested', { tools, ...everything, user: 'u1' })).status).toBe(400)
      expect(bodies).toHaveLength(1)
    },
  )

  test('a refused member is never left out where it changes the answer', async () => {
    const refusal = openai('this model does not support tool_choice', 'tool_choice', 'unsupported_parameter')
    refuseWhere((body) => (body['tool_choice'] === undefined ? null : refusal))
    for (const choice of ['required', 'none', { type: 'function', function: { name: 'look' } }])
      expect((await ask('lab/choice', { tools, tool_choice: choice })).status).toBe(400)
    expect(bodies).toHaveLength(3)
    expect((await ask('lab/choice', { tools, tool_choice: 'auto' })).status).toBe(200)
    expect((await ask('lab/choice', { tools, tool_choice: 'required' })).status).toBe(400)
    expect(bodies.at(-1)).toMatchObject({ tool_choice: 'required' })
  })

  test('a refused member is learnt for the refused value alone', async () => {
    const refusal = openai("Unsupported value: 'reasoning_effort'", 'reasoning_effort', 'unsupported_value')
    refuseWhere((body) => (body['reasoning_effort'] === 'odd' ? refusal : null))
    expect((await ask('lab/value', { reasoning_effort: 'odd' })).status).toBe(200)
    expect(bodies).toHaveLength(2)
    expect((await ask('lab/value', { reasoning_effort: 'high' })).status).toBe(200)
    expect(bodies.at(-1)).toMatchObject({ reasoning_effort: 'high' })
    expect((await ask('lab/value', { reasoning_effort: 'odd' })).status).toBe(200)
    expect(bodies).toHaveLength(4)
  })

  test('a refused member is learnt for requests with the same members alone', async () => {
    const refusal = openai(
      "'temperature' is not supported with top_p",
      'temperature',
      'unsupported_parameter',
    )
    refuseWhere((body) => (body['top_p'] !== undefined && body['temperature'] !== undefined ? refusal : null))
    expect((await ask('lab/form', { temperature: 0.5, top_p: 0.5 })).status).toBe(200)
    expect((await ask('lab/form', { temperature: 0.5 })).status).toBe(200)
    expect(bodies.at(-1)).toMatchObject({ temperature: 0.5 })
  })

  test('a refused member that is the bound of the answer keeps its name if only its value is refused', async () => {
    refuseWhere((body) =>
      body['max_tokens'] === undefined
        ? null
        : openai('max_tokens above 4096 is not supported', 'max_tokens', 'unsupported_value'),
    )
    expect((await ask('lab/bound', { max_tokens: 10 })).status).toBe(400)
    expect(bodies).toHaveLength(1)
  })

  test('a refused member is learnt one at a time, and only if the model accepted the request right after', async () => {
    refuseWhere((body) => {
      if (body['seed'] !== undefined) return openai("property 'seed' is unsupported", null, null)
      return body['top_p'] === undefined ? null : openai("property 'top_p' is unsupported", null, null)
    })
    const counts: number[] = []
    for (let call = 0; call < 3; call++) {
      bodies = []
      expect((await ask('lab/twice', { seed: 7, top_p: 0.5 })).status).toBe(200)
      counts.push(bodies.length)
    }
    expect(counts).toEqual([3, 2, 1])
  })

  test('a refused member is not learnt if the model refuses the request without it too', async () => {
    refuseWhere((body) => {
      if (body['seed'] !== 7) return null
      return openai("property 'top_p' is unsupported", null, null)
    })
    expect((await ask('lab/wrong', { seed: 7, top_p: 0.5 })).status).toBe(400)
    expect(bodies).toHaveLength(2)
    expect((await ask('lab/wrong', { seed: 8, top_p: 0.5 })).status).toBe(200)
    expect(bodies.at(-1)).toMatchObject({ top_p: 0.5 })
  })
})
