import { call, choice, chunk, data, done, end, endOfCalls, hello, one, plain, whole } from '../oddity.ts'
import type { Oddity } from '../oddity.ts'

const github = (thread: string) => `https://github.com/${thread}`
const a = '{"at":"a"}'
const look = { index: 0, id: 'x', function: { name: 'look', arguments: a } }
const named = (name: string): string =>
  call({ ...look, function: { name, arguments: a } }) + endOfCalls + done
const written = (args: unknown): string =>
  call({ ...look, function: { name: 'look', arguments: args } }) + endOfCalls + done
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }

/** Frames, choices, names and arguments as users have reported them. */
export const reportedShapes: readonly Oddity[] = [
  {
    what: 'a byte order mark stands before later lines',
    source: 'tried: proxies that join files with byte order marks',
    wire: `${hello}\uFEFF${end}\uFEFF${done}`,
    normal: plain,
  },
  {
    what: 'two objects stand in one data line',
    source: github('danny-avila/LibreChat/issues/4820'),
    wire: `data: ${JSON.stringify(choice({ content: 'Hel' }))}${JSON.stringify(choice({ content: 'lo' }, 'stop'))}\n\n${done}`,
    normal: plain,
  },
  {
    what: 'events stand behind each other without a line end',
    source: github('danny-avila/LibreChat/issues/4820'),
    wire: (hello + end + done).replaceAll('\n\ndata', 'data'),
    normal: plain,
  },
  {
    what: 'choices are an object by their index',
    source: 'tried: PHP gateways that print a list with gaps as an object',
    wire: data({ choices: { 0: { index: 0, delta: { content: 'Hello' } } } }) + end + done,
    normal: plain,
  },
  {
    what: 'an empty delta is an empty list',
    source: 'tried: PHP gateways that print an empty object as a list',
    wire: data({ choices: [{ index: 0, delta: [] }] }) + hello + end + done,
    normal: plain,
  },
  {
    what: 'the delta is a text',
    source: 'tried: gateways with a delta of the Responses API',
    wire: data({ choices: [{ index: 0, delta: 'Hello' }] }) + end + done,
    normal: plain,
  },
  {
    what: 'the message is a text',
    source: 'tried: gateways of a workflow engine',
    wire: JSON.stringify({ choices: [{ index: 0, message: 'Hello', finish_reason: 'stop' }] }),
    normal: plain,
    openAiClient: 'the normal form',
  },
  {
    what: 'the choice has words under a name that no API has',
    source: 'tried: a gateway of an older MiniMax API, messages in a choice',
    wire: JSON.stringify({ choices: [{ messages: [{ text: 'Hello' }], finish_reason: 'stop' }] }),
    normal: { problem: 'provider-unreadable', says: 'messages' },
    openAiClient: 'an error',
  },
  {
    what: 'the calls stand in the choice beside the message',
    source: 'tried: gateways that translate calls',
    wire: JSON.stringify({
      choices: [{ index: 0, message: { content: '' }, tool_calls: [look], finish_reason: 'tool_calls' }],
    }),
    normal: one,
    openAiClient: 'the normal form',
  },
  {
    what: 'the words stand in one choice and the calls in a second choice without an index',
    source: github('ericc-ch/copilot-api/pull/110'),
    wire: JSON.stringify({
      choices: [
        { finish_reason: 'tool_calls', message: { role: 'assistant', content: 'Hello' } },
        { finish_reason: 'tool_calls', message: { role: 'assistant', tool_calls: [look] } },
      ],
      usage,
    }),
    normal: { ...one, text: 'Hello', usage: [10, 5] },
    openAiClient: 'the normal form',
  },
  {
    what: 'the words stand in one choice and each of two calls in a further choice without an index',
    source: 'tried: the same gateway with parallel calls',
    wire: JSON.stringify({
      choices: [
        { finish_reason: 'tool_calls', message: { role: 'assistant', content: 'Hello' } },
        { finish_reason: 'tool_calls', message: { role: 'assistant', tool_calls: [look] } },
        { finish_reason: 'tool_calls', message: { role: 'assistant', tool_calls: [{ ...look, id: 'y' }] } },
      ],
      usage,
    }),
    normal: {
      calls: [
        ['look', a],
        ['look', a],
      ],
      end: 'tool_calls',
      text: 'Hello',
      usage: [10, 5],
    },
    openAiClient: 'the normal form',
  },
  {
    what: 'one event has two choices with the index 0',
    source: 'tried: proxies that join events',
    wire:
      data({
        choices: [
          { index: 0, delta: { content: 'Hel' } },
          { index: 0, delta: { content: 'lo' } },
        ],
      }) +
      end +
      done,
    normal: plain,
  },
  {
    what: 'tool_calls is false',
    source: 'tried: gateways with a flag in place of a list',
    wire: whole({ content: 'Hello', tool_calls: false, function_call: '' }),
    normal: plain,
    openAiClient: 'the normal form',
  },
  {
    what: 'tool_calls is the text null',
    source: 'tried: templates that print what is missing',
    wire: whole({ content: 'Hello', tool_calls: 'null' }),
    normal: plain,
    openAiClient: 'the normal form',
  },
  {
    what: 'the name has the namespace default_api',
    source: github('langchain-ai/langchain-google/issues/725'),
    wire: named('default_api.look'),
    normal: one,
  },
  {
    what: 'the name is the id of Kimi',
    source: 'MoonshotAI/Kimi-K2, docs/tool_call_guidance.md: functions.{name}:{index}',
    wire: named('functions.look:0'),
    normal: one,
  },
  {
    what: 'the name begins with a dollar sign',
    source: 'platform.moonshot.ai, $web_search; tried: a model that invents such a name',
    wire: named('$functions.look now'),
    normal: { calls: [['look now', a]], end: 'tool_calls' },
  },
  {
    what: 'the name has brackets of a call behind it',
    source: github('anomalyco/opencode/issues/23065'),
    wire: named('look()'),
    normal: one,
  },
  {
    what: 'the arguments are an empty list',
    source: 'tried: PHP gateways that print an empty object as a list',
    wire: written([]),
    normal: { calls: [['look', '{}']], end: 'tool_calls' },
  },
  {
    what: 'the arguments are an empty list as a text',
    source: 'tried: PHP gateways that print an empty object as a list',
    wire: written('[]'),
    normal: { calls: [['look', '{}']], end: 'tool_calls' },
  },
  {
    what: 'two quotes stand behind the arguments',
    source: github('UKGovernmentBEIS/inspect_ai/issues/4822'),
    wire: written('{}""'),
    normal: { calls: [['look', '{}']], end: 'tool_calls' },
  },
  {
    what: 'the arguments have a zero character behind them',
    source: github('ggml-org/llama.cpp/issues/22072'),
    wire: written(`\u200B${a}\u0000`),
    normal: one,
  },
  {
    what: 'the thinking of Gemma 4 stands in its channel',
    source: github('lmstudio-ai/lmstudio-bug-tracker/issues/2013'),
    wire:
      chunk({ content: '<|channel>thought\nhm' }) +
      chunk({ content: '\n<channel|>Hello<turn|>' }) +
      end +
      done,
    normal: { text: 'Hello', thought: '\nhm\n', end: 'stop' },
  },
  {
    what: 'the thinking of Gemma 4 has its closing mark alone',
    source: github('jundot/omlx/pull/2533'),
    wire: whole({ content: 'hm\n<channel|>Hello' }),
    normal: { text: 'Hello', thought: 'hm\n', end: 'stop' },
    openAiClient: 'the normal form',
  },
]
