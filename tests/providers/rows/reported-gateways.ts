import { call, chunk, data, done, end, endOfCalls, hello, one, plain, two, whole } from '../oddity.ts'
import type { Oddity } from '../oddity.ts'

const github = (thread: string) => `https://github.com/${thread}`
const a = { name: 'look', arguments: '{"at":"a"}' }
const b = { name: 'look', arguments: '{"at":"b"}' }
const dsml =
  '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="look">\n<｜DSML｜parameter name="at" string="true">a</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>'

/** Oddities of gateways and servers that users reported. */
export const reportedGateways: readonly Oddity[] = [
  {
    what: 'an event is null',
    source: github('earendil-works/pi/pull/2466'),
    wire: hello + 'data: null\n\n' + end + done,
    normal: plain,
  },
  {
    what: 'the usage of the first event has no tokens of an answer',
    source: github('vercel/ai/issues/2763'),
    wire:
      data({
        choices: [{ index: 0, delta: { role: 'assistant', content: '' } }],
        usage: { prompt_tokens: 11, total_tokens: 11 },
      }) +
      hello +
      data({
        choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
        usage: { prompt_tokens: 11, completion_tokens: 2, total_tokens: 13 },
      }) +
      done,
    normal: { ...plain, usage: [11, 2] },
  },
  {
    what: 'the tokens written to a cache are null',
    source: github('zed-industries/zed/pull/62983'),
    wire:
      hello +
      end +
      data({
        choices: [],
        usage: {
          prompt_tokens: 12,
          completion_tokens: 5,
          total_tokens: 17,
          prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: null },
        },
      }) +
      done,
    normal: { ...plain, usage: [12, 5] },
  },
  {
    what: 'the id of a call comes under one index and its arguments come under another',
    source: github('danny-avila/LibreChat/issues/13987'),
    wire:
      call({ index: 1, id: 'x', type: 'function', function: { name: 'look', arguments: '' } }) +
      call({ index: 0, function: { arguments: '{"at"' } }) +
      call({ index: 0, function: { arguments: ':"a"}' } }) +
      endOfCalls +
      done,
    normal: one,
  },
  {
    what: 'the second call begins under the index of the first and goes on under its own',
    source: github('agno-agi/agno/pull/8880'),
    wire:
      call({ index: 0, id: 'x', function: { name: 'look', arguments: '' } }) +
      call({ index: 0, function: { arguments: a.arguments } }) +
      call({ index: 0, id: 'y', function: { name: 'look', arguments: '' } }) +
      call({ index: 1, function: { arguments: b.arguments } }) +
      endOfCalls +
      done,
    normal: two,
  },
  {
    what: 'each piece of a call has an id of its own and an empty name, and the reason is stop',
    source: github('BerriAI/litellm/pull/40040'),
    wire:
      call({ index: 0, id: 'x1', type: 'function', function: { name: 'look', arguments: '' } }) +
      call({ index: 0, id: 'x2', type: 'function', function: { name: '', arguments: '{"at": "' } }) +
      call({ index: 0, id: 'x3', type: 'function', function: { name: '', arguments: 'a"}' } }) +
      call({ index: 0, id: 'x4', type: 'function', function: { name: '', arguments: '' } }, 'stop') +
      done,
    normal: { calls: [['look', '{"at": "a"}']], end: 'tool_calls' },
  },
  {
    what: 'the reason tool_calls comes with the first call and the second call comes behind it',
    source: github('BerriAI/litellm/pull/31634'),
    wire:
      call({ index: 0, id: 'x', function: a }, 'tool_calls') +
      call({ index: 1, id: 'y', function: b }, 'tool_calls') +
      done,
    normal: two,
  },
  {
    what: 'the signature of a call comes in an event of its own, under the name of Vertex',
    source: github('open-webui/computer/issues/224'),
    wire:
      call({ id: 'x', type: 'function', function: { name: 'look', arguments: '{"at":' } }) +
      call({ function: { arguments: '"a"}' } }) +
      call({ extra_content: { vertex: { thought_signature: 'c2VhbA==' } } }) +
      end +
      done,
    normal: one,
  },
  {
    what: 'thinking is an object with a text and a signature',
    source: github('envoyproxy/ai-gateway/issues/2318'),
    wire:
      chunk({ role: 'assistant', reasoning_content: { text: 'Hm' } }) +
      chunk({ reasoning_content: { text: 'm.' } }) +
      chunk({ reasoning_content: { signature: 'c2VhbA==' } }) +
      hello +
      end +
      done,
    normal: { ...plain, thought: 'Hmm.' },
  },
  {
    what: 'a signature of thinking stands beside a call, without a text',
    source: github('envoyproxy/ai-gateway/issues/2318'),
    wire:
      chunk({
        tool_calls: [{ index: 0, id: 'x', function: a }],
        reasoning_content: { signature: 'c2VhbA==' },
      }) +
      endOfCalls +
      done,
    normal: one,
  },
  {
    what: 'the marks of DeepSeek V4 for a call stand in the words',
    source: github('TokenRhythm/opensquilla/issues/985'),
    wire:
      chunk({ role: 'assistant', content: dsml.slice(0, 9) }) +
      chunk({ content: dsml.slice(9) }) +
      end +
      done,
    normal: { text: dsml, end: 'stop' },
  },
  {
    what: 'an error stands in a choice and its reason is error',
    source: github('genkit-ai/genkit/pull/6259'),
    wire:
      chunk({ content: 'Partial ' }) +
      data({
        choices: [
          {
            index: 0,
            delta: {},
            finish_reason: 'error',
            error: { message: 'upstream timed out', code: 504 },
          },
        ],
      }) +
      done,
    normal: { problem: 'upstream-failed', says: 'upstream timed out', agentCode: 'upstream-timeout' },
  },
  {
    what: 'an error stands beside empty choices in the only event',
    source: github('diegosouzapw/OmniRoute/pull/8210'),
    wire:
      data({
        id: 'g',
        object: 'chat.completion.chunk',
        choices: [],
        error: {
          code: 502,
          message: 'Worker local total request limit reached (33/32)',
          metadata: { error_type: 'provider_unavailable' },
        },
      }) + done,
    normal: { problem: 'upstream-failed', says: 'request limit reached' },
  },
  {
    what: 'an error event of LM Studio has its reason twice',
    source: github('nugget/thane-ai-agent/pull/1395'),
    wire: `event: error\n${data({ error: { message: 'Failed to load the model' }, message: 'Failed to load the model' })}`,
    normal: { problem: 'upstream-failed', says: 'Failed to load the model' },
  },
  {
    what: 'an error of Groq has a failed generation and a status beside it',
    source: github('tensorzero/tensorzero/pull/1893'),
    wire: data({
      error: {
        message: 'Failed to call a function.',
        type: 'invalid_request_error',
        code: 'tool_use_failed',
        failed_generation: 'selected tool does not match forced tool call name',
        status_code: 400,
      },
    }),
    normal: { problem: 'upstream-failed', says: 'Failed to call a function' },
  },
  {
    what: 'the server ends a repetition',
    source: github('BerriAI/litellm/pull/27101'),
    wire: hello + chunk({}, 'repetition') + done,
    normal: plain,
  },
  {
    what: 'the server aborts',
    source: github('InternLM/xtuner/pull/1755'),
    wire: hello + chunk({}, 'abort') + done,
    normal: { problem: 'upstream-failed', says: 'abort' },
  },
  {
    what: 'the network of the provider fails in the middle',
    source: github('promptfoo/promptfoo/pull/9905'),
    wire: hello + chunk({}, 'network_error') + done,
    normal: { problem: 'upstream-failed', says: 'network_error' },
  },
  {
    what: 'the answer is sensitive',
    source: github('BerriAI/litellm/pull/24373'),
    wire: hello + chunk({}, 'sensitive') + done,
    normal: { ...plain, end: 'content_filter' },
  },
  {
    what: 'the window of the model is exceeded behind the words',
    source: github('earendil-works/pi/pull/1868'),
    wire: hello + chunk({}, 'model_context_window_exceeded') + done,
    normal: { ...plain, end: 'length' },
  },
  {
    what: 'a whole answer stands in data beside success',
    source: github('cline/cline/issues/13348'),
    wire: JSON.stringify({
      data: {
        choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hello' } }],
      },
      success: true,
    }),
    normal: plain,
  },
  {
    what: 'code 0 and the word Success stand beside the choices',
    source: 'xfyun.cn documentation, Spark HTTP API, response fields code, message and sid',
    wire:
      data({
        code: 0,
        message: 'Success',
        sid: 's',
        choices: [{ index: 0, delta: { role: 'assistant', content: 'Hello' } }],
      }) +
      data({
        code: 0,
        message: 'Success',
        sid: 's',
        choices: [{ index: 0, delta: { content: '' } }],
        usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
      }) +
      done,
    normal: { ...plain, usage: [3, 2] },
  },
  {
    what: 'an error of Spark has a code, a message and a session',
    source: 'xfyun.cn documentation, Spark HTTP API, error 10013',
    wire: data({ code: 10013, message: 'input content audit failed', sid: 's' }) + done,
    normal: { problem: 'upstream-failed', says: 'input content audit failed' },
  },
  {
    what: 'an error has the names error_code and error_msg',
    source: 'cloud.baidu.com documentation, Qianfan, error codes',
    wire: JSON.stringify({ error_code: 336003, error_msg: 'the max input characters is 20000', id: 'as-1' }),
    normal: { problem: 'upstream-failed', says: 'the max input characters' },
  },
  {
    what: 'an error stands in Response.Error with capital letters',
    source: 'cloud.tencent.com documentation, Hunyuan, response of an error',
    wire: JSON.stringify({
      Response: {
        Error: { Code: 'FailedOperation.EngineServerError', Message: 'engine failed' },
        RequestId: 'r',
      },
    }),
    normal: { problem: 'upstream-failed', says: 'engine failed' },
  },
  {
    what: 'the thinking of Databricks stands in summaries of a part of the words',
    source: 'docs.databricks.com, query reasoning models, content of type reasoning',
    wire: whole({
      role: 'assistant',
      content: [
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hmm.', signature: 'c2VhbA==' }] },
        { type: 'text', text: 'Hello' },
      ],
    }),
    normal: { ...plain, thought: 'Hmm.' },
  },
  {
    what: 'an error of Groq stands in x_groq before the mark of the end',
    source: 'console.groq.com/docs/api-reference: x_groq.error says why a stream was stopped early',
    wire: hello + data({ choices: [], x_groq: { id: 'req_1', error: 'over capacity' } }) + done,
    normal: { problem: 'upstream-failed', says: 'over capacity' },
  },
  {
    what: 'thinking is an object with a content',
    source: github('0xPlaygrounds/rig/issues/1656'),
    wire: chunk({ reasoning: { content: 'Hm' } }) + hello + end + done,
    normal: { ...plain, thought: 'Hm' },
  },
  {
    what: 'a part of the words has a content and no text',
    source: 'tried: gateways that write parts as they write messages',
    wire: whole({ role: 'assistant', content: [{ type: 'text', content: 'Hello' }] }),
    normal: plain,
  },
  {
    what: 'a part of an unknown type has a content, which is no word of the model',
    source: 'tried: results of tools that run at the provider',
    wire: whole({
      role: 'assistant',
      content: [
        { type: 'tool_result', content: 'from a page' },
        { type: 'text', text: 'Hello' },
      ],
    }),
    normal: plain,
  },
  {
    what: 'the name of a call stands in quotation marks',
    source: github('sgl-project/sglang/issues/2877'),
    wire:
      call({ index: 0, id: 'c', function: { name: '"look"', arguments: '{"at":"a"}' } }) + endOfCalls + done,
    normal: one,
  },
  {
    what: 'the name of a call has its index behind a colon',
    source: 'moonshotai/Kimi-K2 docs/tool_call_guidance: ids as functions.NAME:INDEX, which gateways cut',
    wire:
      call({ index: 0, id: 'c', function: { name: 'look:0', arguments: '{"at":"a"}' } }) + endOfCalls + done,
    normal: one,
  },
  {
    what: 'an error stands behind the mark [ERROR]',
    source: 'lm-sys/FastChat and InternLM/lmdeploy: errors of a worker in a stream',
    wire: hello + 'data: [ERROR] out of memory\n\n' + done,
    normal: { problem: 'provider-unreadable', says: 'out of memory' },
  },
]
