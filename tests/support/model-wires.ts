import { bedrock } from './bedrock-wire.ts'
import { cohere } from './cohere-wire.ts'
import { responses } from './responses-wire.ts'
import { chatCalls, dataLine, namedEvent, wireUsage } from './wire-turn.ts'
import type { Turn, Wire } from './wire-turn.ts'

export type WireKind = 'anthropic' | 'google' | 'mistral' | 'cohere' | 'bedrock' | 'openai' | 'responses'

const anthropicUsage = {
  input_tokens: wireUsage.prompt - wireUsage.cached,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: wireUsage.cached,
  output_tokens: wireUsage.answer,
}

function anthropicBlocks({ thought, text, call }: Turn): object[] {
  return [
    ...(thought ? [{ type: 'thinking', thinking: thought.text, signature: thought.signature }] : []),
    ...(text === undefined ? [] : [{ type: 'text', text }]),
    ...(call ? [{ type: 'tool_use', ...call }] : []),
  ]
}

function anthropicDeltas(block: Record<string, unknown>): { start: object; deltas: object[] } {
  if (block['type'] === 'thinking') {
    return {
      start: { type: 'thinking', thinking: '', signature: '' },
      deltas: [
        { type: 'thinking_delta', thinking: block['thinking'] },
        { type: 'signature_delta', signature: block['signature'] },
      ],
    }
  }
  if (block['type'] === 'text') {
    const words = String(block['text']).match(/\s*\S+/g) ?? []
    return {
      start: { type: 'text', text: '' },
      deltas: words.map((text) => ({ type: 'text_delta', text })),
    }
  }
  const json = JSON.stringify(block['input'])
  return {
    start: { ...block, input: {} },
    deltas: [json.slice(0, 5), json.slice(5)].map((partial_json) => ({
      type: 'input_json_delta',
      partial_json,
    })),
  }
}

function anthropicMessage(turn: Turn): object {
  return {
    id: 'msg_01QC4g3HwBThD4BaNtBckFDJ',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-5-20250929',
    content: anthropicBlocks(turn),
    stop_reason: turn.call ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: anthropicUsage,
  }
}

const anthropic: Wire = {
  whole: anthropicMessage,
  events: (turn) => [
    {
      type: 'message_start',
      message: {
        ...anthropicMessage(turn),
        content: [],
        stop_reason: null,
        usage: { ...anthropicUsage, output_tokens: 1 },
      },
    },
    { type: 'ping' },
    ...anthropicBlocks(turn).flatMap((block, index) => {
      const { start, deltas } = anthropicDeltas(block as Record<string, unknown>)
      return [
        { type: 'content_block_start', index, content_block: start },
        ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
        { type: 'content_block_stop', index },
      ]
    }),
    {
      type: 'message_delta',
      delta: { stop_reason: turn.call ? 'tool_use' : 'end_turn', stop_sequence: null },
      usage: anthropicUsage,
    },
    { type: 'message_stop' },
  ],
  frame: namedEvent,
  failure: (message) =>
    namedEvent({ type: 'error', error: { details: null, type: 'overloaded_error', message } }),
  streamType: 'text/event-stream; charset=utf-8',
  refusal: (status, message) => ({
    type: 'error',
    error: {
      type:
        status === 529 ? 'overloaded_error' : status === 429 ? 'rate_limit_error' : 'invalid_request_error',
      message,
    },
    request_id: 'req_011CSHoEeqs5C35K2UUqR7Fy',
  }),
}

function googleParts({ thought, text, call }: Turn): object[] {
  return [
    ...(thought ? [{ text: thought.text, thought: true }] : []),
    ...(text === undefined ? [] : [{ text }]),
    ...(call
      ? [
          {
            functionCall: { name: call.name, args: call.input },
            ...(thought ? { thoughtSignature: thought.signature } : {}),
          },
        ]
      : []),
  ]
}

function googleAnswer(parts: readonly object[], finish: boolean): object {
  return {
    candidates: [
      { content: { parts, role: 'model' }, index: 0, ...(finish ? { finishReason: 'STOP' } : {}) },
    ],
    usageMetadata: {
      promptTokenCount: wireUsage.prompt,
      cachedContentTokenCount: wireUsage.cached,
      candidatesTokenCount: wireUsage.answer - wireUsage.thought,
      thoughtsTokenCount: wireUsage.thought,
      totalTokenCount: wireUsage.prompt + wireUsage.answer,
    },
    modelVersion: 'gemini-2.5-flash',
    responseId: 'QHiLaa6LBrb8vdIPoNztsAg',
  }
}

const google: Wire = {
  whole: (turn) => googleAnswer(googleParts(turn), true),
  events: (turn) => [
    ...googleParts(turn).map((part) => googleAnswer([part], false)),
    googleAnswer([{ text: '' }], true),
  ],
  frame: dataLine,
  failure: (message) =>
    dataLine({ error: { message, code: 503, status: 'UNAVAILABLE', type: 'server_error' } }),
  streamType: 'text/event-stream',
  refusal: (code, message) => ({
    error: {
      code,
      message,
      status: code === 429 ? 'RESOURCE_EXHAUSTED' : 'INVALID_ARGUMENT',
      details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '3.4s' }],
    },
  }),
}

const chatUsage = {
  prompt_tokens: wireUsage.prompt,
  completion_tokens: wireUsage.answer,
  total_tokens: wireUsage.prompt + wireUsage.answer,
  prompt_tokens_details: { cached_tokens: wireUsage.cached },
  completion_tokens_details: { reasoning_tokens: wireUsage.thought },
}

function chatChunk(delta: object, finish: string | null, usage?: object): object {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1_769_088_854,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finish, logprobs: null }],
    ...(usage ? { usage } : {}),
  }
}

function chatWhole(message: object, finish: string): object {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_769_088_854,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }],
    usage: chatUsage,
  }
}

function finishOf({ call }: Turn): string {
  return call ? 'tool_calls' : 'stop'
}

/** Mistral sends its thinking as a content part, and its ids have nine letters. */
const mistral: Wire = {
  whole: (turn) =>
    chatWhole({ content: mistralContent(turn), ...chatCalls(turn, 'gSIMJiOkT') }, finishOf(turn)),
  events: (turn) => [
    chatChunk({ role: 'assistant', content: '' }, null),
    ...(turn.thought
      ? [
          chatChunk(
            { content: [{ type: 'thinking', thinking: [{ type: 'text', text: turn.thought.text }] }] },
            null,
          ),
        ]
      : []),
    ...(turn.text === undefined ? [] : [chatChunk({ content: turn.text }, null)]),
    chatChunk({ content: turn.call ? null : '', ...chatCalls(turn, 'gSIMJiOkT') }, finishOf(turn), chatUsage),
  ],
  frame: dataLine,
  failure: (message) =>
    dataLine({ error: { message, code: 503, status: 'UNAVAILABLE', type: 'server_error' } }),
  streamType: 'text/event-stream; charset=utf-8',
  refusal: (status, message) => ({
    object: 'error',
    message,
    type: 'invalid_request_error',
    param: null,
    code: String(status),
  }),
}

function mistralContent({ thought, text = '' }: Turn): unknown {
  if (!thought) return text
  return [
    { type: 'thinking', thinking: [{ type: 'text', text: thought.text }] },
    { type: 'text', text },
  ]
}

const openai: Wire = {
  whole: (turn) =>
    chatWhole(
      {
        content: turn.text ?? null,
        ...(turn.thought ? { reasoning_content: turn.thought.text } : {}),
        ...chatCalls(turn, turn.call?.id ?? ''),
      },
      finishOf(turn),
    ),
  events: (turn) => [
    chatChunk({ role: 'assistant', content: '' }, null),
    ...(turn.thought ? [chatChunk({ reasoning_content: turn.thought.text }, null)] : []),
    ...(turn.text?.match(/\s*\S+/g) ?? []).map((content) => chatChunk({ content }, null)),
    ...(turn.call ? [chatChunk(chatCalls(turn, turn.call.id), null)] : []),
    chatChunk({}, finishOf(turn)),
    { ...chatChunk({}, null), choices: [], usage: chatUsage },
  ],
  frame: dataLine,
  failure: (message) =>
    dataLine({ error: { message, code: 503, status: 'UNAVAILABLE', type: 'server_error' } }),
  streamType: 'text/event-stream',
  refusal: (_status, message) => ({
    error: { message, type: 'invalid_request_error', param: null, code: null },
  }),
}

export const wires: Readonly<Record<WireKind, Wire>> = {
  anthropic,
  google,
  mistral,
  cohere,
  bedrock,
  openai,
  responses,
}
