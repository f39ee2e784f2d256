import { choice, chunk, data, done, end, hello, plain, whole } from '../oddity.ts'
import type { Oddity } from '../oddity.ts'

const github = (thread: string) => `https://github.com/${thread}`
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
const said = { ...plain, usage: [10, 5] } as const

/** Streams, ends, usages and errors as users have reported them; each row names the report. */
export const reportedAnswers: readonly Oddity[] = [
  {
    what: 'the role is an empty text in every event',
    source: github('vercel/ai/pull/15464'),
    wire: chunk({ role: '', content: 'Hello', reasoning_content: '' }) + chunk({ role: '' }, 'stop') + done,
    normal: plain,
  },
  {
    what: 'a part of the words is a reference',
    source: github('laravel/ai/pull/866'),
    wire:
      chunk({ content: [{ type: 'reference', reference_ids: ['search', 1] }] }) +
      chunk({ content: [{ type: 'text', text: 'Hello' }] }) +
      end +
      done,
    normal: plain,
  },
  {
    what: 'a refusal comes in pieces and the reason is stop',
    source: github('langchain-ai/langchain/issues/39747'),
    wire:
      chunk({ role: 'assistant', content: null, refusal: '' }) +
      chunk({ refusal: 'I can' }) +
      chunk({ refusal: 'not.' }) +
      end +
      done,
    normal: { text: 'I cannot.', end: 'content_filter' },
  },
  {
    what: 'an event without choices and usage comes behind the usage',
    source: github('BerriAI/litellm/issues/17136'),
    wire: hello + data({ ...choice({}, 'stop'), usage }) + data({ id: 'c1', choices: [] }) + done,
    normal: said,
  },
  {
    what: 'text and delta stand in one choice',
    source: 'docs.together.ai, chat completions, events of a stream',
    wire:
      data({
        choices: [{ index: 0, role: 'assistant', text: 'Hello', delta: { token_id: 9, content: 'Hello' } }],
      }) +
      data({ choices: [{ index: 0, text: '', delta: { token_id: 2, content: '' }, finish_reason: 'eos' }] }) +
      done,
    normal: plain,
  },
  {
    what: 'citations and search results stand beside the choices',
    source: 'docs.perplexity.ai, chat completions, citations and search_results',
    wire:
      data({ ...choice({ content: 'Hello' }), citations: ['https://a'], search_results: [{ title: 'a' }] }) +
      end +
      done,
    normal: plain,
  },
  {
    what: 'counts of the usage are null',
    source:
      'microsoft/agent-framework, odysseus-dev/odysseus: parser crashes on null choice, usage and call entries',
    wire: hello + end + data({ choices: [], usage: { prompt_tokens: null, completion_tokens: null } }) + done,
    normal: plain,
  },
  {
    what: 'the usage comes with every event and begins at zero',
    source: github('rashidrazak/opencode-cmd-provider/pull/213'),
    wire:
      data({
        ...choice({ content: 'Hel' }),
        usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
      }) +
      data({
        ...choice({ content: 'lo' }),
        usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 },
      }) +
      data({ ...choice({}, 'stop'), usage }) +
      done,
    normal: said,
  },
  {
    what: 'the words of a filter come as an error of the filter itself',
    source: github('BerriAI/litellm/issues/1564'),
    wire:
      data({
        choices: [],
        prompt_filter_results: [
          {
            prompt_index: 0,
            content_filter_results: {
              error: { code: 'content_filter_error', message: 'The contents are not filtered' },
            },
          },
        ],
      }) +
      hello +
      data({
        choices: [
          {
            index: 0,
            finish_reason: 'stop',
            content_filter_results: {
              error: { code: 'content_filter_error', message: 'The contents are not filtered' },
            },
            content_filter_offsets: { check_offset: 1, start_offset: 0, end_offset: 5 },
          },
        ],
      }) +
      done,
    normal: plain,
  },
  {
    what: 'the reasons are those of Google in capital letters',
    source: github('mozilla-ai/any-llm/pull/1202'),
    wire: hello + chunk({}, 'MAX_TOKENS') + done,
    normal: { text: 'Hello', end: 'length' },
  },
  {
    what: 'the last words come with the reason length',
    source: github('vllm-project/vllm/issues/35705'),
    wire: chunk({ content: 'Hel' }) + chunk({ content: 'lo' }, 'length') + done,
    normal: { text: 'Hello', end: 'length' },
  },
  {
    what: 'the reason is null and only finishReason is filled',
    source: github('jakobdylanc/llmcord/issues/84'),
    wire: hello + data({ choices: [{ index: 0, delta: {}, finish_reason: null, finishReason: 'stop' }] }),
    normal: plain,
  },
  {
    what: 'pings of the Messages API come between the events',
    source: 'docs.claude.com, ping events of streams, which translating proxies hand on',
    wire:
      'event: ping\ndata: {"type":"ping"}\n\n' +
      hello +
      'event: ping\ndata: {"type": "ping"}\n\n' +
      end +
      done,
    normal: plain,
  },
  {
    what: 'data lines are empty or an empty text',
    source: 'milady-ai/milady: SSE stream parser drops multi-line data fields; tried: empty data',
    wire: 'data:\n\n' + hello + 'data: \n\ndata: ""\n\n' + end + done,
    normal: plain,
  },
  {
    what: 'the mark of the end comes three times',
    source: 'adolfousier/opencrabs: terminal authorities of a stream; tried: the mark repeated',
    wire: hello + end + done + done + done,
    normal: plain,
  },
  {
    what: 'a broken character stands in the words',
    source: 'Wei-Shaw/claude-relay-service: SSE streams corrupted by UTF-8 text processing',
    wire: Buffer.concat([
      Buffer.from('data: {"choices":[{"index":0,"delta":{"content":"He'),
      Buffer.from([0xff]),
      Buffer.from('llo"}}]}\n\n'),
      Buffer.from(end + done),
    ]),
    normal: { text: 'He\ufffdllo', end: 'stop' },
  },
  {
    what: 'the answer stands in the output of DashScope with a usage beside it',
    source: 'https://www.alibabacloud.com/help/en/model-studio/qwen-api-reference',
    wire: JSON.stringify({
      output: { choices: [{ finish_reason: 'stop', message: { role: 'assistant', content: 'Hello' } }] },
      usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
      request_id: 'r',
    }),
    normal: said,
    openAiClient: 'the normal form',
  },
  {
    what: 'the model was only loaded',
    source: github('langchain-ai/langchain/issues/31482'),
    wire: JSON.stringify({
      model: 'm',
      created_at: 't',
      message: { role: 'assistant', content: '' },
      done_reason: 'load',
      done: true,
    }),
    normal: { end: 'stop' },
    openAiClient: 'an error',
  },
  {
    what: 'there is thinking, a stop, and zero tokens of an answer',
    source: github('mistralai/client-python/issues/628'),
    wire:
      chunk({ reasoning_content: 'hm hm' }) +
      data({ ...choice({ content: '' }, 'stop'), usage: { ...usage, completion_tokens: 0 } }) +
      done,
    normal: { thought: 'hm hm', end: 'stop', usage: [10, 0] },
  },
  {
    what: 'a stream has zero words and a usage',
    source: github('lmstudio-ai/lmstudio-bug-tracker/issues/2339'),
    wire: chunk({ role: 'assistant' }) + end + data({ choices: [], usage }) + done,
    normal: { end: 'stop', usage: [10, 5] },
  },
  {
    what: 'choices are null beside a usage of zeros',
    source: github('CherryHQ/cherry-studio/issues/11287'),
    wire: JSON.stringify({
      id: '0566',
      object: 'chat.completion',
      choices: null,
      usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
    }),
    normal: { problem: 'provider-unreadable' },
    openAiClient: 'an error',
  },
  {
    what: 'choices are null and so is everything else',
    source: github('decolua/9router/issues/2727'),
    wire: JSON.stringify({ id: null, choices: null, created: null, model: null, object: null, usage: null }),
    normal: { problem: 'provider-unreadable' },
    openAiClient: 'an error',
  },
  {
    what: 'a stream begins with an error of a call that the model failed to write',
    source: github('anomalyco/opencode/issues/1018'),
    wire: `event: error\ndata: ${JSON.stringify({ error: { message: "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.", type: 'invalid_request_error', code: 'tool_use_failed', failed_generation: 'x', status_code: 400 } })}\n\n`,
    normal: { problem: 'upstream-failed', says: 'Failed to call a function' },
  },
  {
    what: 'the prompt is too long for llama.cpp, told in a stream',
    source: github('ggml-org/llama.cpp/issues/14566'),
    wire: data({
      error: {
        code: 400,
        message:
          'the request exceeds the available context size. try increasing the context size or enable context shift',
        type: 'exceed_context_size_error',
        n_prompt_tokens: 14429,
        n_ctx: 8192,
      },
    }),
    normal: { problem: 'prompt-too-long', agentCode: 'context-exhausted' },
  },
  {
    what: 'the prompt is too long for llama.cpp, told in a field named error',
    source: github('ggml-org/llama.cpp/issues/14566'),
    wire: `error: ${JSON.stringify({ code: 400, message: 'request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it', type: 'exceed_context_size_error' })}\n\n`,
    normal: { problem: 'prompt-too-long', agentCode: 'context-exhausted' },
    openAiClient: 'an error',
  },
  {
    what: 'the prompt is too long for SGLang, with status 200',
    source: github('sgl-project/sglang/issues/12081'),
    wire:
      data({
        error: {
          object: 'error',
          message: "The input (131204 tokens) is longer than the model's context length (131072 tokens).",
          type: 'BadRequestError',
          param: null,
          code: 400,
        },
      }) + done,
    normal: { problem: 'prompt-too-long', agentCode: 'context-exhausted' },
  },
  {
    what: 'a balance is used up, told by MiniMax with status 200',
    source:
      'MiniMax API reference, base_resp and code 1008; modelscope/modelscope: insufficient balance (1008)',
    wire: JSON.stringify({
      id: 'x',
      choices: null,
      base_resp: { status_code: 1008, status_msg: 'insufficient balance' },
    }),
    normal: {
      problem: 'upstream-failed',
      says: 'insufficient balance',
      agentCode: 'provider-quota-exhausted',
    },
    openAiClient: 'an error',
  },
  {
    what: 'a server error of a gateway says success false',
    source: github('CommandCodeAI/command-code/issues/785'),
    wire: JSON.stringify({
      success: false,
      error: { code: 'INTERNAL_SERVER_ERROR', status: 500, message: 'An unexpected error occurred.' },
    }),
    normal: { problem: 'upstream-failed', says: 'An unexpected error occurred.' },
    openAiClient: 'an error',
  },
  {
    what: 'an error is success false and a message',
    source: 'CommandCodeAI/command-code: hard 500 with success false; tried: without an error member',
    wire: JSON.stringify({ success: false, message: 'The upstream is busy', data: null }),
    normal: { problem: 'upstream-failed', says: 'The upstream is busy' },
    openAiClient: 'an error',
  },
  {
    what: 'an error is a message alone',
    source:
      'https://docs.aws.amazon.com/apigateway/latest/developerguide/supported-gateway-response-types.html',
    wire: JSON.stringify({ message: 'Endpoint request timed out' }),
    normal: { problem: 'upstream-failed', says: 'Endpoint request timed out' },
    openAiClient: 'an error',
  },
  {
    what: 'an error is an errorMessage of a function that ran too long',
    source: 'https://docs.aws.amazon.com/lambda/latest/dg/nodejs-exceptions.html',
    wire: JSON.stringify({
      errorType: 'Sandbox.Timedout',
      errorMessage: 'Task timed out after 30.03 seconds',
    }),
    normal: { problem: 'upstream-failed', says: 'Task timed out' },
    openAiClient: 'an error',
  },
  {
    what: 'the workers of a provider are full, told beside empty choices',
    source: github('diegosouzapw/OmniRoute/pull/8210'),
    wire:
      data({
        id: 'gen-1',
        object: 'chat.completion.chunk',
        choices: [],
        error: { code: 502, message: 'Worker local total request limit reached (33/32)' },
      }) + done,
    normal: { problem: 'upstream-failed', says: 'limit reached' },
  },
  {
    what: 'an error of validation is a text with its type beside it',
    source: 'Hugging Face, text-generation-inference, errors of a stream with error_type',
    wire: data({
      error: 'Request failed during generation: Server error: out of memory',
      error_type: 'generation',
    }),
    normal: { problem: 'upstream-failed', says: 'out of memory' },
  },
  {
    what: 'a rate is exceeded, told by a code of DashScope with status 200',
    source: 'https://www.alibabacloud.com/help/en/model-studio/error-code',
    wire: JSON.stringify({
      code: 'Throttling.RateQuota',
      message: 'Requests rate limit exceeded, please try again later.',
      request_id: 'r',
    }),
    normal: { problem: 'upstream-failed', says: 'rate limit exceeded', agentCode: 'rate-limited' },
    openAiClient: 'an error',
  },
  {
    what: 'the protocol of another API comes as a stream of responses',
    source: 'developers.cloudflare.com, Workers AI, streamed text generation',
    wire: data({ response: 'Hel', p: 'abc' }) + data({ response: 'lo', p: 'ab' }) + done,
    normal: { problem: 'provider-unreadable', says: 'response' },
  },
  {
    what: 'a whole answer has the text twice, in content and in reasoning, with an audio of null',
    source: github('MacPaw/OpenAI/pull/408'),
    wire: whole({
      role: 'assistant',
      content: 'Hello',
      refusal: null,
      audio: null,
      annotations: [],
      function_call: null,
    }),
    normal: plain,
  },
]
