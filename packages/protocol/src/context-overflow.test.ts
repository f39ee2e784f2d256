import { describe, expect, test } from 'vitest'
import { saysTooLong, statedWindow } from './context-overflow.ts'

/** The provider, its message, the window in it, and the prompt length if stated. */
const said: readonly (readonly [string, string, number | null, number | null])[] = [
  ['OpenAI', "This model's maximum context length is 8192 tokens.", 8192, null],
  [
    'OpenAI with the messages',
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 10050 tokens. Please reduce the length of the messages.",
    8192,
    10_050,
  ],
  [
    'OpenAI with the answer',
    "This model's maximum context length is 4097 tokens. However, you requested 9000 tokens (5000 in the messages, 4000 in the completion). Please reduce the length of the messages or completion.",
    4097,
    5000,
  ],
  [
    'OpenAI where only the answer is too long',
    "This model's maximum context length is 4097 tokens, however you requested 5360 tokens (1360 in your prompt; 4000 for the completion).",
    4097,
    null,
  ],
  [
    'OpenAI lately',
    'Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.',
    272_000,
    null,
  ],
  ['OpenAI without numbers', 'Your input exceeds the context window of this model.', null, null],
  ['Anthropic', 'prompt is too long: 208310 tokens > 200000 maximum', 200_000, 208_310],
  [
    'Anthropic with the answer',
    'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again',
    200_000,
    null,
  ],
  [
    'Google',
    'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    1_048_576,
    1_200_000,
  ],
  [
    'Google without the count',
    'The input token count exceeds the maximum number of tokens allowed 1048576.',
    1_048_576,
    null,
  ],
  [
    'Mistral',
    'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
    32_768,
    40_000,
  ],
  [
    'xAI',
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens",
    131_072,
    537_812,
  ],
  [
    'vLLM',
    "This model's maximum context length is 8192 tokens. However, your request has 9000 input tokens. Please reduce the length of the input messages.",
    8192,
    9000,
  ],
  [
    'vLLM of the answer',
    "'max_tokens' or 'max_completion_tokens' is too large: 16384. This model's maximum context length is 8192 tokens and your request has 3000 input tokens (16384 > 8192 - 3000).",
    8192,
    null,
  ],
  [
    'vLLM of the decoder',
    'The decoder prompt (length 9000) is longer than the maximum model length of 8192. Make sure that `max_model_len` is no smaller than the number of text tokens.',
    8192,
    9000,
  ],
  [
    'llama.cpp',
    'the request exceeds the available context size (8192 tokens), try increasing it',
    8192,
    null,
  ],
  [
    'llama.cpp lately',
    'request (10000 tokens) exceeds the available context size (8192 tokens), try increasing it',
    8192,
    10_000,
  ],
  [
    'llama.cpp without numbers',
    'the request exceeds the available context size. try increasing the context size or enable context shift',
    null,
    null,
  ],
  [
    'OpenRouter',
    "This endpoint's maximum context length is 131072 tokens. However, you requested about 200000 tokens (180000 of text input, 20000 in the output). Please reduce the length of either one.",
    131_072,
    180_000,
  ],
  [
    'LM Studio',
    'Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.',
    4096,
    null,
  ],
  [
    'Cohere',
    'too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000. Try using a shorter prompt.',
    4081,
    5000,
  ],
  [
    'Cohere by what is too much',
    'too many tokens: size limit exceeded by 11326 tokens. Try using shorter or fewer inputs. The limit for this model is 128000 tokens.',
    128_000,
    null,
  ],
  [
    'Moonshot',
    'Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)',
    8192,
    9000,
  ],
  ['GitHub', 'prompt token count of 70000 exceeds the limit of 64000', 64_000, 70_000],
  [
    'Cerebras',
    'Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192',
    8192,
    9000,
  ],
  ['Fireworks', 'The prompt is too long: 140000, model maximum context length: 131071', 131_071, null],
  [
    'Together',
    'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 4000 `inputs` tokens and 1000 `max_new_tokens`',
    4097,
    null,
  ],
  ['Bedrock', 'Input is too long for requested model.', null, null],
  ['Groq', 'Please reduce the length of the messages or completion.', null, null],
  ['MiniMax', 'invalid params, context window exceeds limit', null, null],
]

describe('a refusal because of length', () => {
  test.each(said)(
    'a length rejection of %s is recognized, and its stated limit is used',
    (_who, words, ...[windowTokens, promptTokens]) => {
      expect(saysTooLong(words)).toBe(true)
      expect(statedWindow(words)).toEqual(windowTokens === null ? null : { windowTokens, promptTokens })
    },
  )

  test.each([
    'Too many tokens, please wait before trying again.',
    'Too many tokens per day, please wait before trying again.',
    'The number of input tokens exceeds the rate limit of your organization: 30,000 tokens per minute',
    'Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 9000',
    'The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value that is lower.',
    'max_tokens: 20000 > 8192, which is the maximum allowed number of output tokens',
    'something else went wrong',
  ])('a refusal because of length is not: %s', (words) => {
    expect(saysTooLong(words)).toBe(false)
    expect(statedWindow(words)).toBeNull()
  })

  test.each([
    'maximum context length is 0 tokens',
    'maximum context length is 5 tokens',
    'maximum context length is 1000000000000 tokens',
    'maximum context length is 1,000,000,000,000 tokens',
    `maximum context length is ${'9'.repeat(400)} tokens`,
    'maximum context length is 128k tokens',
    'maximum context length is 1e5 tokens',
    'maximum context length is -8192 tokens',
    'maximum context length exceeded by 9000 tokens',
    'context length exceeded: 9000',
    'maximum context length of 9000 tokens exceeds 8192',
    'your context length is 9000 tokens, which is too long',
  ])('states no limit in: %s', (words) => {
    expect(statedWindow(words)).toBeNull()
  })

  test('a refusal because of length is found at once in words without end', () => {
    const endless = `maximum context length is ${'8192 tokens however you requested ('.repeat(20_000)}`
    expect(statedWindow(endless)?.windowTokens).toBe(8192)
    for (const words of [
      'prompt contains 1 tokens'.repeat(9999),
      '1,'.repeat(99_999),
      'input '.repeat(99_999),
    ]) {
      saysTooLong(words)
      expect(statedWindow(words)).toBeNull()
    }
  })
})
