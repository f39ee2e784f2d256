import { one, plain } from './oddity.ts'
import type { NativeOddity } from './native-events.ts'

const message = (content: unknown, more: object = {}): string =>
  JSON.stringify({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-5',
    content,
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 10, output_tokens: 5 },
    ...more,
  })
const hello = { type: 'text', text: 'Hello' }
const tool = (input: unknown): object => ({ type: 'tool_use', id: 'toolu_1', name: 'look', input })
const ofClaude = (what: string, wire: string, normal: NativeOddity['normal']): NativeOddity => ({
  what,
  source: 'docs.claude.com, Messages API reference and versioning',
  kind: 'anthropic',
  wire,
  normal,
})

const gem = (candidates: unknown, more: object = {}): string =>
  JSON.stringify({
    candidates,
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
    ...more,
  })
const said = (parts: unknown, more: object = {}): string =>
  gem([{ content: { role: 'model', parts }, index: 0, finishReason: 'STOP', ...more }])
const ofGoogle = (what: string, wire: string, normal: NativeOddity['normal']): NativeOddity => ({
  what,
  source: 'ai.google.dev API reference, GenerateContentResponse',
  kind: 'google',
  wire,
  normal,
})

const converse = (content: unknown, more: object = {}): string =>
  JSON.stringify({
    output: { message: { role: 'assistant', content } },
    stopReason: 'end_turn',
    usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 },
    metrics: { latencyMs: 100 },
    ...more,
  })
const ofBedrock = (what: string, wire: string, normal: NativeOddity['normal']): NativeOddity => ({
  what,
  source: 'docs.aws.amazon.com, Amazon Bedrock API reference, Converse',
  kind: 'bedrock',
  wire,
  normal,
})

/** Whole answers of native wires. Each must mean the same when it is asked for whole and as a stream. */
export const wholeMessages: readonly NativeOddity[] = [
  ofClaude('nothing is odd', message([hello]), plain),
  ofClaude('a block has an unknown type', message([{ type: 'hologram', data: 'x' }, hello]), plain),
  ofClaude('the usage is null', message([hello], { usage: null }), plain),
  ofClaude('the usage has only the output', message([hello], { usage: { output_tokens: 5 } }), plain),
  ofClaude(
    'counts of the usage are texts',
    message([hello], { usage: { input_tokens: '10', output_tokens: '5' } }),
    plain,
  ),
  ofClaude(
    'id, model, role and type are missing',
    JSON.stringify({ content: [hello], stop_reason: 'end_turn' }),
    plain,
  ),
  ofClaude('the content is a text', message('Hello'), plain),
  ofClaude('the content is one block', message(hello), plain),
  ofClaude('the input is a JSON text', message([tool('{"at":"a"}')], { stop_reason: 'tool_use' }), one),
  ofClaude('the input is null', message([tool(null)], { stop_reason: 'tool_use' }), {
    calls: [['look', '{}']],
    end: 'tool_calls',
  }),
  ofClaude(
    'the reason is end_turn although a tool is called',
    message([tool({ at: 'a' })], { stop_reason: 'tool_use' }),
    one,
  ),
  ofClaude('the reason is null', message([hello], { stop_reason: null }), plain),
  ofClaude('thinking has no signature', message([{ type: 'thinking', thinking: 'hm' }, hello]), {
    ...plain,
    thought: 'hm',
  }),
  ofClaude(
    'citations have an unknown type',
    message([{ ...hello, citations: [{ type: 'star_chart', at: 1 }] }]),
    plain,
  ),
  ofClaude(
    'a tool of the provider reports a result of an unknown form',
    message([
      { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
      { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: { odd: true } },
      hello,
    ]),
    plain,
  ),
  ofClaude('a byte order mark is before the answer', `\uFEFF${message([hello])}`, plain),
  ofClaude('the answer is a JSON text in a JSON text', JSON.stringify(message([hello])), plain),
  ofClaude(
    'an error replaces the answer',
    JSON.stringify({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
    { problem: 'model-overloaded', says: 'Overloaded' },
  ),
  ofClaude(
    'an error about the account replaces the answer',
    JSON.stringify({ type: 'error', error: { type: 'authentication_error', message: 'invalid x-api-key' } }),
    { problem: 'provider-refused', says: 'invalid x-api-key' },
  ),
  ofClaude('a page replaces the answer', '<html><body>Sign in</body></html>', { problem: 'cannot be read' }),
  ofGoogle('nothing is odd', said([{ text: 'Hello' }]), plain),
  ofGoogle('a part has an unknown kind', said([{ hologram: { x: 1 } }, { text: 'Hello' }]), plain),
  ofGoogle(
    'the answers come as a list',
    `[${said([{ text: 'Hel' }], { finishReason: undefined })},${said([{ text: 'lo' }])}]`,
    plain,
  ),
  ofGoogle(
    'grounding has an unknown form',
    said([{ text: 'Hello' }], { groundingMetadata: { groundingChunks: [{ web: 7 }] } }),
    plain,
  ),
  ofGoogle(
    'the arguments are a JSON text',
    said([{ functionCall: { name: 'look', args: '{"at":"a"}' } }]),
    one,
  ),
  ofGoogle(
    'counts of the usage are texts',
    gem([{ content: { parts: [{ text: 'Hello' }] }, finishReason: 'STOP' }], {
      usageMetadata: { promptTokenCount: '10', candidatesTokenCount: '5' },
    }),
    plain,
  ),
  ofGoogle('a byte order mark is before the answer', `\uFEFF${said([{ text: 'Hello' }])}`, plain),
  ofGoogle(
    'an error replaces the answer',
    JSON.stringify({ error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } }),
    { problem: 'overloaded' },
  ),
  ofBedrock('nothing is odd', converse([{ text: 'Hello' }]), plain),
  ofBedrock('a block has an unknown kind', converse([{ hologram: { x: 1 } }, { text: 'Hello' }]), plain),
  ofBedrock('the usage is null', converse([{ text: 'Hello' }], { usage: null }), plain),
  ofBedrock('the reason is null', converse([{ text: 'Hello' }], { stopReason: null }), plain),
  ofBedrock('the metrics are a text', converse([{ text: 'Hello' }], { metrics: 'none' }), plain),
  ofBedrock(
    'thinking has an unknown form',
    converse([{ reasoningContent: { hologram: 'x' } }, { text: 'Hello' }]),
    plain,
  ),
  ofBedrock(
    'the input is a JSON text',
    converse([{ toolUse: { toolUseId: 't1', name: 'look', input: '{"at":"a"}' } }], {
      stopReason: 'tool_use',
    }),
    one,
  ),
  ofBedrock('the content is a text', converse('Hello'), plain),
  ofBedrock('a block is a text', converse(['Hel', 'lo']), plain),
  ofBedrock('the text is a list', converse([{ text: ['Hel', { text: 'lo' }] }]), plain),
  ofBedrock('the text is an object of unknown members', converse([{ text: { x: { y: 1 } } }]), {
    problem: 'cannot be read',
  }),
  ofBedrock('nothing but a block of an unknown kind comes', converse([{ hologram: { x: 1 } }]), {
    problem: 'cannot be read',
  }),
  ofBedrock(
    'the message is a text',
    JSON.stringify({ output: { message: 'Hello' }, stopReason: 'end_turn' }),
    plain,
  ),
  ofBedrock(
    'the output has the words',
    JSON.stringify({ output: { text: 'Hello' }, stopReason: 'end_turn' }),
    plain,
  ),
  ofBedrock(
    'the call has arguments',
    converse([{ toolUse: { toolUseId: 't1', name: 'look', arguments: '{"at":"a"}' } }], {
      stopReason: 'tool_use',
    }),
    one,
  ),
  ofBedrock(
    'the call is a tool_use',
    converse([{ type: 'tool_use', id: 't1', name: 'look', input: { at: 'a' } }], { stopReason: 'tool_use' }),
    one,
  ),
  ofBedrock(
    'the call is a toolCall',
    converse([{ toolCall: { id: 't1', name: 'look', arguments: { at: 'a' } } }], { stopReason: 'tool_use' }),
    one,
  ),
  ofBedrock(
    'the reason is written with underscores',
    converse([{ text: 'Hello' }], { stopReason: undefined, stop_reason: 'max_tokens' }),
    { text: 'Hello', end: 'length' },
  ),
  ofBedrock('the reason is a list', converse([{ text: 'Hello' }], { stopReason: ['max_tokens'] }), {
    text: 'Hello',
    end: 'length',
  }),
  ofBedrock(
    'counts of the usage are texts',
    converse([{ text: 'Hello' }], { usage: { inputTokens: '10', outputTokens: '5' } }),
    plain,
  ),
  ofBedrock('thinking is a text', converse([{ reasoningContent: 'hm' }, { text: 'Hello' }]), {
    ...plain,
    thought: 'hm',
  }),
  ofBedrock('an error replaces the answer', JSON.stringify({ message: 'Too many tokens, please wait' }), {
    problem: 'Too many tokens',
  }),
]
