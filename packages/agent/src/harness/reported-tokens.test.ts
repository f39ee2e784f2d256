import { expect, test } from 'vitest'
import { reportedTokensMax } from '@flotilla/protocol/harness-api'
import { readContextTokens, readReportedTokens } from './reported-tokens.ts'

const usage = { totalTokens: 1250, inputTokens: 40, outputTokens: 200, cachedReadTokens: 1000 }
const quota = (input: unknown, output: unknown) => ({
  _meta: { quota: { token_count: { input_tokens: input, output_tokens: output }, model_usage: [] } },
})

test.each([
  { reads: 'the total with what was read from a cache', answer: { usage }, tokens: [1050, 200] },
  { reads: 'thoughts as a part', answer: { usage: { ...usage, thoughtTokens: 50 } }, tokens: [1000, 250] },
  { reads: 'no thoughts', answer: { usage: { ...usage, thoughtTokens: null } }, tokens: [1050, 200] },
  { reads: 'a part above all', answer: { usage: { totalTokens: 5, outputTokens: 9 } }, tokens: [0, 5] },
  { reads: 'the extension field of Gemini CLI', answer: quota(90, 10), tokens: [90, 10] },
  { reads: 'the standard field first', answer: { usage, ...quota(90, 10) }, tokens: [1050, 200] },
])('the tokens of a turn are read: $reads', ({ answer, tokens: [prompt, completion] }) => {
  expect(readReportedTokens({ stopReason: 'end_turn', ...answer })).toEqual({
    prompt_tokens: prompt,
    completion_tokens: completion,
  })
})

test.each([
  null,
  'usage',
  {},
  { usage: null },
  { usage: { totalTokens: 7 } },
  { usage: { ...usage, totalTokens: -1 } },
  { usage: { ...usage, outputTokens: 1.5 } },
  { usage: { ...usage, thoughtTokens: '9' } },
  { usage: { ...usage, totalTokens: Number.POSITIVE_INFINITY } },
  { usage: { ...usage, totalTokens: reportedTokensMax + 1 } },
  quota(1, -1),
  quota(1e300, 1),
  quota('1', 1),
])('a report of another form is not counted: %j', (answer) => {
  expect(readReportedTokens(answer)).toBe(null)
})

const context = (update: object, sessionId = 's') => ({ sessionId, update })

test.each([
  [context({ sessionUpdate: 'usage_update', used: 42, size: 258_400 }), 42],
  [context({ sessionUpdate: 'usage_update', used: 42 }, 'other'), null],
  [context({ sessionUpdate: 'plan', used: 42 }), null],
  [context({ sessionUpdate: 'usage_update', used: -1 }), null],
  [context({ sessionUpdate: 'usage_update', used: 0.5 }), null],
  [null, null],
])('the size of the context is read from its own notification alone: %j', (params, tokens) => {
  expect(readContextTokens(params, 's')).toBe(tokens)
})
