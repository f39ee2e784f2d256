import { call, chunk, data, done, end, endOfCalls, hello, plain, whole } from '../oddity.ts'
import type { Oddity } from '../oddity.ts'

const github = (thread: string) => `https://github.com/${thread}`
const look = { index: 0, id: 'x', function: { name: 'look', arguments: '{"at":"a"}' } }
const endsAs = (reason: string, source: string, normal: Oddity['normal']): Oddity => ({
  what: `the reason is ${reason}`,
  source,
  wire: hello + chunk({}, reason) + done,
  normal,
})
const failsAs = (...[what, source, body, says]: readonly [string, string, unknown, string]): Oddity => ({
  what,
  source,
  wire: JSON.stringify(body),
  normal: { problem: 'upstream-failed', says },
  openAiClient: 'an error',
})

/** Reasons of ends and errors in answers with status 200, as users have reported them. */
export const reportedEnds: readonly Oddity[] = [
  endsAs('max_completion_tokens', github('crewAIInc/crewAI/issues/7013'), { text: 'Hello', end: 'length' }),
  endsAs('context_window_exceeded', github('agno-agi/agno/pull/8630'), { text: 'Hello', end: 'length' }),
  endsAs('output_truncated', github('jeffdafoe/llm-memory-api/pull/283'), { text: 'Hello', end: 'length' }),
  endsAs('time_limit', 'cloud.ibm.com, watsonx.ai, stop_reason of a text generation', {
    text: 'Hello',
    end: 'length',
  }),
  endsAs('moderation_blocked', github('earendil-works/pi/pull/1509'), {
    text: 'Hello',
    end: 'content_filter',
  }),
  endsAs('LANGUAGE', 'ai.google.dev API reference, FinishReason', { text: 'Hello', end: 'content_filter' }),
  endsAs('upstream_error', github('earendil-works/pi/pull/1509'), {
    problem: 'upstream-failed',
    says: 'upstream_error',
  }),
  endsAs('rate_limit', github('nearai/ironclaw/pull/6697'), {
    problem: 'upstream-failed',
    says: 'rate_limit',
  }),
  endsAs('USER_CANCEL', 'docs.cohere.com, chat, finish reasons', {
    problem: 'upstream-failed',
    says: 'USER_CANCEL',
  }),
  endsAs('stop_token_ids', github('ferro-labs/ai-gateway/issues/142'), plain),
  {
    what: 'the reason is not_finished until the end',
    source: 'cloud.ibm.com, watsonx.ai, stop_reason of a text generation',
    wire: chunk({ content: 'Hel' }, 'not_finished') + chunk({ content: 'lo' }, 'not_finished') + end + done,
    normal: plain,
  },
  {
    what: 'a stop comes behind the reason length',
    source: github('jeffdafoe/llm-memory-api/pull/283'),
    wire: hello + chunk({}, 'length') + end + done,
    normal: { text: 'Hello', end: 'length' },
  },
  {
    what: 'a stop comes behind a filter',
    source: github('nearai/ironclaw/pull/6697'),
    wire: hello + chunk({}, 'content_filter') + end + done,
    normal: { text: 'Hello', end: 'content_filter' },
  },
  {
    what: 'a stop comes behind the reason tool_calls',
    source: github('anomalyco/opencode/issues/5750'),
    wire: call(look) + endOfCalls + end + done,
    normal: { calls: [['look', '{"at":"a"}']], end: 'tool_calls' },
  },
  {
    what: 'the words of a refusal are also the content',
    source: 'tried: gateways that fill content from the refusal',
    wire: whole({ content: 'I cannot.', refusal: 'I cannot.' }),
    normal: { text: 'I cannot.', end: 'content_filter' },
    openAiClient: 'the normal form',
  },
  failsAs(
    'an error is a fault of Apigee',
    'docs.apigee.com, fault responses: faultstring',
    { fault: { faultstring: 'Spike arrest violation', detail: { errorcode: 'policies.ratelimit' } } },
    'Spike arrest violation',
  ),
  failsAs(
    'an error is a problem of RFC 9457',
    'rfc-editor.org, RFC 9457; mofa-org/mofa#1339: gateways that refuse with status 200',
    { type: 'about:blank', title: 'Service Unavailable', status: 503 },
    'Service Unavailable',
  ),
  failsAs(
    'an error has the name Error',
    'docs.aws.amazon.com, common errors of query APIs',
    { Error: { Code: 'ServiceFailure', Message: 'The pool is empty' } },
    'The pool is empty',
  ),
  failsAs(
    'an error is a list of faults of FastAPI',
    'fastapi.tiangolo.com, handling errors: detail',
    { detail: [{ loc: ['body', 'top_k'], msg: 'extra fields not permitted', type: 'value_error' }] },
    'extra fields not permitted',
  ),
  failsAs('an error is an err', 'tried: gateways on Koa and Express', { err: 'no route' }, 'no route'),
  failsAs(
    'an error is ok false and an error_message',
    'tried: gateways of chat platforms',
    { ok: false, error_message: 'The pool is empty' },
    'The pool is empty',
  ),
  failsAs(
    'an error says only success false',
    github('CommandCodeAI/command-code/issues/785'),
    { success: false },
    'without a message',
  ),
  {
    what: 'the message of an error is the error of another provider as JSON',
    source: github('lbjlaq/Antigravity-Manager/issues/654'),
    wire: data({
      error: { message: JSON.stringify({ type: 'error', error: { message: 'The pool is empty' } }) },
    }),
    normal: { problem: 'upstream-failed', says: 'The pool is empty' },
  },
]
