import { chunk, data, done, hello } from '../oddity.ts'
import type { Oddity } from '../oddity.ts'

/** Errors that come with status 200. */
export const errorOddities: readonly Oddity[] = [
  {
    what: 'an error stands in the stream as an object',
    source:
      'diegosouzapw/OmniRoute: surface OpenRouter mid-stream error chunks instead of a false empty success',
    wire: data({ id: 'c1', choices: [], error: { code: 502, message: 'Worker limit reached' } }) + done,
    normal: { problem: 'upstream-failed', says: 'Worker limit reached' },
    openAiClient: 'an error',
  },
  {
    what: 'an error stands in the stream as a text',
    source: 'ollama/ollama: {"error":"model runner has unexpectedly stopped"}',
    wire: data({ error: 'model runner has stopped' }),
    normal: { problem: 'upstream-failed', says: 'model runner has stopped' },
    openAiClient: 'an error',
  },
  {
    what: 'an error stands beside a choice',
    source: 'openrouter.ai documentation, errors, mid-stream errors',
    wire:
      hello +
      data({
        choices: [
          {
            index: 0,
            delta: { content: '' },
            finish_reason: 'error',
            error: { message: 'Provider disconnected' },
          },
        ],
      }) +
      done,
    normal: { problem: 'upstream-failed', says: 'Provider disconnected' },
  },
  {
    what: 'an error event has its name alone',
    source: 'docs.claude.com, streaming messages, error events',
    wire: `event: error\ndata: {"message":"Overloaded"}\n\n`,
    normal: { problem: 'upstream-failed', says: 'Overloaded' },
    openAiClient: 'an error',
  },
  {
    what: 'an error of the Messages API comes in a chat',
    source: 'docs.claude.com, errors, as gateways hand them on',
    wire: data({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
    normal: { problem: 'upstream-failed', says: 'Overloaded', agentCode: 'model-overloaded' },
    openAiClient: 'an error',
  },
  {
    what: 'an error is an object of that name',
    source: 'vllm-project/vllm and mistral.ai: {"object":"error","message":…}',
    wire: JSON.stringify({ object: 'error', message: 'The model is loading', code: 503 }),
    contentType: 'application/json',
    normal: { problem: 'upstream-failed', says: 'The model is loading' },
    openAiClient: 'an error',
  },
  {
    what: 'an error is a message and a code',
    source: 'docs.aws.amazon.com and alibabacloud.com: {"code":…,"message":…} without an error member',
    wire: JSON.stringify({
      code: 'Throttling.RateQuota',
      message: 'Requests rate limit exceeded',
      request_id: 'r',
    }),
    contentType: 'application/json',
    normal: { problem: 'upstream-failed', says: 'rate limit exceeded', agentCode: 'rate-limited' },
    openAiClient: 'an error',
  },
  {
    what: 'an error is a detail',
    source: 'fastapi.tiangolo.com, handling errors: {"detail":…}',
    wire: JSON.stringify({ detail: 'Internal Server Error' }),
    contentType: 'application/json',
    normal: { problem: 'upstream-failed', says: 'Internal Server Error' },
    openAiClient: 'an error',
  },
  {
    what: 'an error stands in a list',
    source: 'ai.google.dev OpenAI compatibility: errors as [{"error":…}]',
    wire: JSON.stringify([{ error: { code: 400, message: 'Function call is missing a thought_signature' } }]),
    contentType: 'application/json',
    normal: { problem: 'upstream-failed', says: 'thought_signature', agentCode: 'history-refused' },
    openAiClient: 'an error',
  },
  {
    what: 'an error stands in base_resp',
    source: 'RooCodeInc/Roo-Code: provider-specific error handling for MiniMax base_resp errors',
    wire: data({ choices: null, base_resp: { status_code: 1013, status_msg: 'unknown error' } }) + done,
    normal: { problem: 'upstream-failed', says: 'unknown error' },
  },
  {
    what: 'a success stands in base_resp, and an empty error beside it',
    source: 'RooCodeInc/Roo-Code: MiniMax base_resp; fireworks users: "error": null in each chunk',
    wire:
      data({
        choices: [{ index: 0, delta: { content: 'Hello' }, finish_reason: 'stop' }],
        error: null,
        base_resp: { status_code: 0, status_msg: '' },
      }) + done,
    normal: { text: 'Hello', end: 'stop' },
  },
  {
    what: 'a prompt is too long, told in a stream',
    source: 'ggml-org/llama.cpp: exceed_context_size_error in a stream',
    wire: data({
      error: {
        code: 400,
        message:
          "This model's maximum context length is 4096 tokens. However, your messages resulted in 5000 tokens.",
      },
    }),
    normal: { problem: 'prompt-too-long', agentCode: 'context-exhausted' },
    openAiClient: 'an error',
  },
  {
    what: 'an error is told in plain words behind data:',
    source: 'EricLBuehler/mistral.rs: Streaming SSE may hang after error event',
    wire: 'data: Number of choices must be greater than 0.\n\n',
    normal: { problem: 'provider-unreadable', says: 'Number of choices' },
  },
  {
    what: 'an error comes behind the first words',
    source: 'aaif-goose/goose: handle mid-stream error events in OpenAI SSE streaming',
    wire: hello + chunk({ content: ' there' }) + data({ error: { message: 'Internal server error' } }),
    normal: { problem: 'upstream-failed', says: 'Internal server error' },
  },
  {
    what: 'an error names its type as AWS does',
    source: 'docs.aws.amazon.com, JSON protocol: __type and x-amzn-ErrorType',
    wire: JSON.stringify({
      __type: 'ThrottlingException',
      message: 'Rate exceeded',
      'x-amzn-RequestId': 'r',
    }),
    normal: { problem: 'upstream-failed', says: 'Rate exceeded', agentCode: 'rate-limited' },
    openAiClient: 'an error',
  },
  ...(
    [
      ['has all members and none is filled', { message: '', type: '', param: '', code: null }],
      ['has a code and words of success', { code: 200, message: 'success' }],
      ['is the text success', 'success'],
    ] as const
  ).map(([form, error]) => ({
    what: `an error beside an answer ${form}`,
    source: 'gateways that print an error object in each answer',
    wire: data({ choices: [{ index: 0, delta: { content: 'Hello' }, finish_reason: 'stop' }], error }) + done,
    normal: { text: 'Hello', end: 'stop' as const },
  })),
  {
    what: 'a history is rejected by a code in base_resp',
    source: 'platform.minimax.io, error code 2013 with status 200',
    wire: JSON.stringify({
      base_resp: { status_code: 2013, status_msg: "invalid params, tool result's tool id not found" },
    }),
    normal: { problem: 'upstream-failed', says: 'not found', agentCode: 'history-refused' },
    openAiClient: 'an error',
  },
]
