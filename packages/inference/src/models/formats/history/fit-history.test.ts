import fc from 'fast-check'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { describe, expect, test } from 'vitest'
import { documentedFaults } from '../../../../../../tests/providers/documented-rules.ts'
import { fitHistory } from './fit-history.ts'
import { historyRulesOf } from './history-rules.ts'

const at = {
  deepseek: {
    kind: 'openai-compatible',
    model: 'deepseek-chat',
    baseUrl: 'https://api.deepseek.com/v1',
    takesDetails: false,
  },
  openai: {
    kind: 'openai-compatible',
    model: 'gpt-5-mini',
    baseUrl: 'https://api.openai.com/v1',
    takesDetails: false,
  },
  groq: {
    kind: 'openai-compatible',
    model: 'llama',
    baseUrl: 'https://api.groq.com/openai/v1',
    takesDetails: false,
  },
  mistral: {
    kind: 'openai-compatible',
    model: 'devstral-small',
    baseUrl: 'http://127.0.0.1:8000/v1',
    takesDetails: false,
  },
  gemini: {
    kind: 'openai-compatible',
    model: 'gemini-3-pro',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    takesDetails: false,
  },
  kimi: {
    kind: 'openai-compatible',
    model: 'kimi-k2-thinking',
    baseUrl: 'https://api.moonshot.ai/v1',
    takesDetails: false,
  },
  openrouter: {
    kind: 'openai-compatible',
    model: 'anthropic/claude-sonnet-5',
    baseUrl: 'https://openrouter.ai/api/v1',
    takesDetails: true,
  },
  vllm: {
    kind: 'openai-compatible',
    model: 'qwen3',
    baseUrl: 'http://127.0.0.1:8000/v1',
    takesDetails: false,
  },
  anthropic: {
    kind: 'anthropic',
    model: 'claude-sonnet-5',
    baseUrl: 'https://api.anthropic.com/v1',
    takesDetails: false,
  },
} as const
type Name = keyof typeof at

test.each(['https://api.moonshot.cn/v1', 'https://api.kimi.com/coding/v1', 'https://api.z.ai/api/paas/v4'])(
  'a call of another model gets a blank in place of its thinking at %s',
  (baseUrl) => {
    const rules = historyRulesOf({ ...at.kimi, provider: 'own', model: 'kimi-for-coding', baseUrl })
    const messages = [ask, turn([call('c1')]), { role: 'tool', tool_call_id: 'c1', content: 'x' }]
    expect(fitHistory(messages, rules)).toMatchObject([{}, { reasoning_content: ' ' }, {}])
  },
)

const rulesOf = (provider: Name) => historyRulesOf({ provider, ...at[provider] })
const fit = (messages: JsonValue, provider: Name) => fitHistory(messages, rulesOf(provider)) as JsonObject[]

const ask = { role: 'user', content: 'look' }
const call = (id: string, name = 'look', written = '{"at":1}') => ({
  id,
  type: 'function',
  function: { name, arguments: written },
})
const turn = (calls: JsonObject[], more: JsonObject = {}) => ({
  role: 'assistant',
  content: null,
  tool_calls: calls,
  ...more,
})
const result = (id: string, content = 'seen') => ({ role: 'tool', tool_call_id: id, content })
const plain = (from: string) => [
  { type: 'reasoning.text', text: 'hm', format: 'plain', field: 'reasoning_content', from },
]
const seal = [
  {
    type: 'reasoning.encrypted',
    data: 's3al',
    id: 'c1',
    format: 'google-gemini-v1',
    field: 'extra_content',
    from: 'gemini',
  },
]

/**
 * Joins the texts of messages that consist of text parts only, since some providers get messages of one role as
 * parts.
 */
function joinedTexts(messages: readonly unknown[]): readonly unknown[] {
  return (messages as { content?: unknown }[]).map((message) => {
    const parts = message.content
    if (!Array.isArray(parts) || !parts.every((part) => part.type === 'text')) return message
    return { ...message, content: parts.map((part) => part.text).join('\n\n') }
  })
}

describe('a conversation for its next reader', () => {
  test('a conversation for its next reader goes on as the same list where there is nothing to change', () => {
    const messages = [ask, turn([call('c1')]), result('c1'), { role: 'assistant', content: 'done' }]
    expect(fitHistory(messages, rulesOf('openai'))).toBe(messages)
  })

  test.each(['deepseek', 'kimi'] as const)(
    'a conversation for its next reader gives %s its thinking back with the call, and has words where another thought',
    (provider) => {
      const [, own] = fit(
        [ask, turn([call('c1')], { reasoning_details: plain(provider) }), result('c1')],
        provider,
      )
      expect(own).toMatchObject({ reasoning_content: 'hm' })
      const [, other] = fit(
        [ask, turn([call('c1')], { reasoning_details: plain('vllm') }), result('c1')],
        provider,
      )
      expect(other?.['reasoning_content']).toBe(' ')
      expect(other).not.toHaveProperty('reasoning_details')
    },
  )

  test.each(['openai', 'groq'] as const)(
    'a conversation for its next reader has no thinking for %s, which refuses it',
    (provider) => {
      const [, answer] = fit(
        [ask, turn([call('c1')], { reasoning_details: plain(provider) }), result('c1')],
        provider,
      )
      expect(answer).toEqual(turn([call('c1')]))
    },
  )

  test('a conversation for OpenAI itself has the encrypted thinking that this account got, and no other', () => {
    const sealed = (from: string, format = 'openai-responses-v1') => ({
      type: 'reasoning.encrypted',
      data: from,
      format,
      field: 'reasoning_details',
      from,
    })
    const details = [sealed('openai'), sealed('second'), sealed('azure', 'azure-openai-responses-v1')]
    const [, answer] = fit([ask, turn([call('c1')], { reasoning_details: details }), result('c1')], 'openai')
    expect(answer?.['reasoning_details']).toEqual([
      { type: 'reasoning.encrypted', data: 'openai', format: 'openai-responses-v1' },
    ])
  })

  test('a conversation for its next reader has an answer between results and the next words of the user for Mistral, and for no other', () => {
    const steered = [ask, turn([call('abcdefghi')]), result('abcdefghi'), { role: 'user', content: 'stop' }]
    expect(fit(steered, 'mistral').map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
    ])
    expect(documentedFaults(fit(steered, 'mistral'), 'mistral')).toEqual([])
    expect(fit(steered, 'openai')).toBe(steered)
    // A result without its call becomes words of the user, also behind other results.
    const lost = [ask, turn([call('abcdefghi')]), result('abcdefghi'), result('gone')]
    expect(documentedFaults(fit(lost, 'mistral'), 'mistral')).toEqual([])
  })

  test('a conversation for its next reader gives a server of the owner’s what it has sent itself, in the same place', () => {
    const messages = (from: string) => [
      ask,
      turn([call('c1')], { reasoning_details: plain(from) }),
      result('c1'),
    ]
    expect(fit(messages('vllm'), 'vllm')[1]).toEqual(turn([call('c1')], { reasoning_content: 'hm' }))
    expect(fit(messages('deepseek'), 'vllm')[1]).toEqual(turn([call('c1')]))
  })

  test('a conversation for its next reader gives Google its seals on the calls, also under a new id, and says where another made the call', () => {
    const sealed = fit([ask, turn([call('c1')], { reasoning_details: seal }), result('c1')], 'gemini')[1]
    expect(sealed?.['tool_calls']).toEqual([
      { ...call('c1'), extra_content: { google: { thought_signature: 's3al' } } },
    ])
    const foreign = fit([ask, turn([call('c1'), call('c2')]), result('c1'), result('c2')], 'gemini')[1]
    expect(foreign?.['tool_calls']).toEqual([
      { ...call('c1'), extra_content: { google: { thought_signature: 'skip_thought_signature_validator' } } },
      call('c2'),
    ])
  })

  test('a conversation for its next reader gives OpenRouter what a model of this family has sealed, and nothing of another', () => {
    const details = [
      {
        type: 'reasoning.text',
        text: 'hm',
        signature: 's',
        format: 'anthropic-claude-v1',
        field: 'reasoning_details',
        from: 'openrouter',
      },
      {
        type: 'reasoning.encrypted',
        data: 'x',
        format: 'openai-responses-v1',
        field: 'reasoning_details',
        from: 'openrouter',
      },
    ]
    const [, answer] = fit(
      [ask, turn([call('c1')], { reasoning_details: details }), result('c1')],
      'openrouter',
    )
    expect(answer?.['reasoning_details']).toEqual([
      { type: 'reasoning.text', text: 'hm', signature: 's', format: 'anthropic-claude-v1' },
    ])
  })

  test('gives no provider what another of the same format has signed', () => {
    const signedBy = (from: string, format: string) => [
      { type: 'reasoning.text', text: 'hm', signature: 's1gned', format, field: 'reasoning_details', from },
      { type: 'reasoning.encrypted', data: 's3aled', format, field: 'reasoning_details', from },
    ]
    const cases = [
      ['anthropic', 'openrouter', 'anthropic-claude-v1'],
      ['anthropic', 'zai', 'anthropic-claude-v1'],
      ['openrouter', 'anthropic', 'anthropic-claude-v1'],
      ['openrouter', 'lab', 'unknown'],
    ] as const
    for (const [reader, signer, format] of cases) {
      const thought = { reasoning_details: signedBy(signer, format) }
      expect(JSON.stringify(fit([ask, turn([call('c1')], thought), result('c1')], reader))).not.toMatch(
        /s1gned|s3aled/,
      )
      const own = { reasoning_details: signedBy(reader, format) }
      expect(JSON.stringify(fit([ask, turn([call('c1')], own), result('c1')], reader))).toMatch(
        /s1gned.*s3aled/,
      )
    }
    const google = { reasoning_details: [{ ...seal[0], from: 'google' }] }
    const [, sealed] = fit([ask, turn([call('c1')], google), result('c1')], 'gemini')
    expect(JSON.stringify(sealed)).not.toContain('s3al')
    expect(JSON.stringify(sealed)).toContain('skip_thought_signature_validator')
  })

  test.each([
    ['mistral', /^[a-zA-Z0-9]{9}$/],
    ['openai', /^[a-zA-Z0-9_-]{1,40}$/],
    ['anthropic', /^[a-zA-Z0-9_-]+$/],
    ['kimi', /^functions\.look:\d+$/],
  ] as const)(
    'a conversation for its next reader has ids that %s takes, each once, and the same with its result',
    (provider, form) => {
      const ids = ['', 'call_1', 'call_1', 'functions.look:0', 'x'.repeat(90), 'ä b']
      const messages = ids.flatMap((id) => [turn([call(id)]), result(id)])
      const fitted = fit([ask, ...messages], provider)
      const made = fitted.flatMap((message) =>
        Array.isArray(message['tool_calls'])
          ? message['tool_calls'].map((one) => (one as { id: string }).id)
          : [],
      )
      for (const id of made) expect(id).toMatch(form)
      expect(new Set(made).size).toBe(ids.length)
      expect(fitted.filter(({ role }) => role === 'tool').map((one) => one['tool_call_id'])).toEqual(made)
    },
  )

  test('a conversation for its next reader keeps its ids when the conversation goes on', () => {
    const messages = [ask, turn([call('ä')]), result('ä'), turn([call('')]), result('')]
    const longer = [...messages, turn([call('ä')]), result('ä')]
    expect(fit(longer, 'openai').slice(0, messages.length)).toEqual(fit(messages, 'openai'))
  })

  const say = (role: string, content: JsonValue) => ({ role, content })
  test.each([
    [
      'an instruction in the middle',
      [ask, say('assistant', 'a'), say('system', 'be brief'), ask],
      [ask, say('assistant', 'a'), say('user', '[Instruction of the system] be brief\n\nlook')],
    ],
    ['an instruction of a developer', [say('developer', 'be brief'), ask], [say('system', 'be brief'), ask]],
    [
      'two instructions at the beginning',
      [say('system', 'be brief'), say('developer', 'be kind'), ask],
      [say('system', 'be brief\n\nbe kind'), ask],
    ],
    ['an instruction without words', [say('system', ' '), say('system', []), ask], [ask]],
    [
      'two users in a row',
      [ask, say('user', [{ type: 'text', text: 'there' }])],
      [
        say('user', [
          { type: 'text', text: 'look' },
          { type: 'text', text: 'there' },
        ]),
      ],
    ],
    [
      'two answers in a row',
      [ask, say('assistant', 'a'), say('assistant', 'b'), ask],
      [ask, say('assistant', 'a\n\nb'), ask],
    ],
    [
      'an answer at the beginning',
      [say('system', 's'), say('assistant', 'a'), ask],
      [say('system', 's'), say('user', '[The conversation goes on.]'), say('assistant', 'a'), ask],
    ],
    [
      'an answer at the end',
      [ask, say('assistant', 'a ')],
      [ask, say('assistant', 'a '), say('user', '[Go on.]')],
    ],
    [
      'parts without words',
      [
        say('user', [
          { type: 'text', text: '' },
          { type: 'text', text: 'look' },
        ]),
        say('assistant', [{ type: 'text', text: ' ' }]),
        say('user', []),
      ],
      [say('user', [{ type: 'text', text: 'look' }]), say('assistant', '[empty]'), say('user', '[empty]')],
    ],
  ])(
    'a conversation for its next reader has roles in turn for strict providers: %s',
    (_what, messages, expected) => {
      for (const provider of ['vllm', 'anthropic', 'mistral'] as const)
        expect(joinedTexts(fit(messages as JsonValue, provider))).toEqual(joinedTexts(expected))
    },
  )

  test('a conversation for its next reader has an answer between results and a user at Mistral, and takes no order elsewhere', () => {
    const messages = [ask, turn([call('abcdefgh1')]), result('abcdefgh1'), ask]
    expect(fit(messages, 'mistral').map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
    ])
    expect(fit(messages, 'vllm').map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user'])
    const loose = [ask, say('system', 'be brief'), ask, say('assistant', 'a')]
    for (const provider of ['openai', 'openrouter', 'deepseek'] as const)
      expect(fit(loose, provider)).toEqual(loose)
  })

  const words = fc.oneof(
    fc.constantFrom(
      '',
      ' ',
      'look',
      'get weather',
      'a.b',
      '\ud83d',
      'c1',
      'c2',
      '{"at":1}',
      '{"at":"\\ud83d"}',
      '{"at":"\\\\ud83d\\ude00"}',
      '[1]',
      '{',
    ),
    fc.string({ unit: 'binary', maxLength: 70 }),
  )
  const thoughts = fc.array(fc.constantFrom(...plain('deepseek'), ...plain('vllm'), ...seal), {
    maxLength: 3,
  })
  const message = fc.oneof(
    fc.record({ role: fc.constantFrom('user', 'system'), content: words }),
    fc.record({ role: fc.constant('tool'), tool_call_id: words, content: words }),
    fc
      .record({
        content: fc.option(words, { nil: null }),
        calls: fc.array(fc.tuple(words, words, words), { maxLength: 3 }),
        reasoning_details: thoughts,
      })
      .map(({ calls, ...more }) => ({
        role: 'assistant',
        ...more,
        tool_calls: calls.map(([id, name, written]) => call(id, name, written)),
      })),
  )

  test.each(Object.keys(at) as Name[])(
    'a conversation for its next reader passes every documented rule of %s, whatever was said',
    (provider) => {
      fc.assert(
        fc.property(fc.array(message, { maxLength: 12 }), (messages) => {
          const fitted = fit(messages, provider)
          expect(documentedFaults(fitted, provider)).toEqual([])
          // A valid history is not changed.
          expect(fitHistory(fitted, { ...rulesOf(provider), thinking: { takes: 'all' } })).toEqual(fitted)
        }),
        { numRuns: 200 },
      )
    },
  )

  test('the calls of an answer are read a fixed number of times, however many they are', () => {
    const readsOf = (count: number): number => {
      let reads = 0
      const ids = Array.from({ length: count }, (_, index) => `call_${index}`)
      const answer = {
        role: 'assistant',
        content: null,
        get tool_calls() {
          reads++
          return ids.map((id) => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } }))
        },
      }
      const results = ids.toReversed().map((id) => ({ role: 'tool', tool_call_id: id, content: id }))
      const messages: JsonValue[] = [{ role: 'user', content: 'Look.' }, answer, ...results]
      const fitted = fit(messages, 'openai')
      expect(fitted.slice(2).map(({ content }) => content)).toEqual(ids)
      return reads
    }
    expect(readsOf(50)).toBe(readsOf(2))
  })
})
