import { one, plain } from './oddity.ts'
import {
  anthropic,
  close,
  delta,
  ended,
  json,
  named,
  open,
  start,
  stop,
  text,
  tool,
} from './native-events.ts'
import type { NativeOddity } from './native-events.ts'

const github = (thread: string) => `https://github.com/${thread}`

type Row = readonly [what: string, source: string, wire: string, normal: NativeOddity['normal']]
const claude = (...[what, source, wire, normal]: Row): NativeOddity => ({
  ...anthropic(what, wire, normal),
  source,
})
const gem = (candidates: unknown): string =>
  `data: ${JSON.stringify({ candidates, usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 } })}\n\n`
const said = (parts: unknown, finishReason = 'STOP'): string =>
  gem([{ content: { role: 'model', parts }, index: 0, finishReason }])
const google = (...[what, source, wire, normal]: Row): NativeOddity => ({
  what,
  source,
  kind: 'google',
  wire,
  normal,
})
/** Streams of native wires as users have reported them. */
export const nativeStreams: readonly NativeOddity[] = [
  claude(
    'the usage grows over two events',
    github('tensorzero/tensorzero/issues/5481'),
    start() + text(0, 'Hello') + ended(null, { output_tokens: 3 }) + ended('end_turn') + stop,
    plain,
  ),
  claude(
    'counts of the usage are beyond belief',
    github('lemma-work/lemma-platform/pull/564'),
    start({ input_tokens: 1e18, output_tokens: 1 }) +
      text(0, 'Hello') +
      ended('end_turn', { output_tokens: 1e18 }) +
      stop,
    plain,
  ),
  claude(
    'counts of the usage are negative',
    github('anomalyco/opencode/issues/5750'),
    start({ input_tokens: -1, output_tokens: -1 }) +
      text(0, 'Hello') +
      ended('end_turn', { output_tokens: -5 }) +
      stop,
    plain,
  ),
  claude(
    'an error is a text',
    github('lbjlaq/Antigravity-Manager/issues/654'),
    named({ type: 'error', error: 'The pool is empty' }),
    { problem: 'upstream-failed', says: 'The pool is empty' },
  ),
  claude(
    'an error event has a message alone',
    github('lbjlaq/Antigravity-Manager/issues/654'),
    'event: error\ndata: {"message":"The pool is empty"}\n\n',
    { problem: 'upstream-failed', says: 'The pool is empty' },
  ),
  claude(
    'the reason is length',
    github('ferro-labs/ai-gateway/issues/142'),
    start() + text(0, 'Hello') + ended('length') + stop,
    { text: 'Hello', end: 'length' },
  ),
  claude(
    'the reason is content_filter',
    github('ferro-labs/ai-gateway/issues/142'),
    start() + text(0, 'Hello') + ended('content_filter') + stop,
    { text: 'Hello', end: 'content_filter' },
  ),
  claude(
    'the reason is tool_calls',
    github('ferro-labs/ai-gateway/issues/142'),
    start() +
      text(0, 'Hello') +
      open(1, tool('toolu_1')) +
      json(1, '{"at":"a"}') +
      close(1) +
      ended('tool_calls') +
      stop,
    { ...one, text: 'Hello' },
  ),
  claude(
    'the name of a call begins with a dollar sign',
    'tried: a model that invents the name of a tool of its provider',
    start() +
      open(0, { ...tool('toolu_1'), name: '$look now' }) +
      json(0, '{"x":"a"}') +
      close(0) +
      ended('tool_use') +
      stop,
    { calls: [['look now', '{"x":"a"}']], end: 'tool_calls' },
  ),
  claude(
    'a turn pauses behind a tool of the provider without its result',
    github('gsd-build/gsd-2/pull/2870'),
    start() +
      text(0, 'Hello') +
      open(1, { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }) +
      json(1, '{"query":"x"}') +
      close(1) +
      ended('pause_turn') +
      stop,
    plain,
  ),
  claude(
    'two blocks are open at once',
    github('vercel/ai/issues/18331'),
    start() +
      open(0, { type: 'text', text: '' }) +
      open(1, tool('toolu_1')) +
      json(1, '{"at":"a"}') +
      delta(0, { type: 'text_delta', text: 'Hello' }) +
      close(0) +
      close(1) +
      ended('tool_use') +
      stop,
    { ...one, text: 'Hello' },
  ),
  google(
    'the reason is LANGUAGE',
    'ai.google.dev API reference, FinishReason',
    said([{ text: 'Hello' }], 'LANGUAGE'),
    { text: 'Hello', end: 'content_filter' },
  ),
  google(
    'the name has the namespace default_api',
    github('langchain-ai/langchain-google/issues/725'),
    said([{ functionCall: { name: 'default_api.look', args: { at: 'a' } } }]),
    one,
  ),
  google(
    'a call is written with underscores',
    github('AstrBotDevs/AstrBot/issues/9937'),
    said([{ function_call: { name: 'look', args: { at: 'a' } } }]),
    one,
  ),
  google(
    'the answer is in a member response',
    github('lbjlaq/Antigravity-Manager/issues/654'),
    said([{ text: 'Hello' }])
      .replace('data: {', 'data: {"response":{')
      .replace(/\n\n$/, '}\n\n'),
    plain,
  ),
  claude(
    'a delta comes behind the stop of the message',
    'invented: a proxy that delivers two events in the wrong order',
    start() + text(0, 'Hello') + ended('end_turn') + stop + delta(0, { type: 'text_delta', text: '?' }),
    plain,
  ),
]
