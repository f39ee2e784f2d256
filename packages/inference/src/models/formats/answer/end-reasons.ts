import { Problem } from '@flotilla/protocol/problem'

/** Why an answer ended, in the four words of the normal form. */
export type NormalEnd = 'stop' | 'length' | 'tool_calls' | 'content_filter'

/** Finish reasons of providers, in lower case with `_` for other characters, and their normal form. */
const ends: Readonly<Record<string, NormalEnd | 'error'>> = {
  stop: 'stop',
  eos: 'stop',
  eos_token: 'stop',
  end: 'stop',
  end_turn: 'stop',
  pause_turn: 'stop',
  stop_sequence: 'stop',
  stop_token: 'stop',
  complete: 'stop',
  completed: 'stop',
  finished: 'stop',
  done: 'stop',
  length: 'length',
  max_tokens: 'length',
  max_output_tokens: 'length',
  max_length: 'length',
  model_length: 'length',
  token_limit: 'length',
  incomplete: 'length',
  model_context_window_exceeded: 'length',
  context_length_exceeded: 'length',
  tool_calls: 'tool_calls',
  tool_call: 'tool_calls',
  tool_use: 'tool_calls',
  function_call: 'tool_calls',
  function_calls: 'tool_calls',
  content_filter: 'content_filter',
  content_filtered: 'content_filter',
  guardrail_intervened: 'content_filter',
  refusal: 'content_filter',
  refused: 'content_filter',
  safety: 'content_filter',
  sensitive: 'content_filter',
  recitation: 'content_filter',
  blocklist: 'content_filter',
  prohibited_content: 'content_filter',
  spii: 'content_filter',
  image_safety: 'content_filter',
  image_prohibited_content: 'content_filter',
  image_recitation: 'content_filter',
  language: 'content_filter',
  error_toxic: 'content_filter',
  error: 'error',
  error_finish: 'error',
  network_error: 'error',
  insufficient_system_resource: 'error',
  engine_overloaded: 'error',
  malformed_function_call: 'error',
  unexpected_tool_call: 'error',
  malformed_tool_use: 'error',
  malformed_model_output: 'error',
  malformed_response: 'error',
  missing_thought_signature: 'error',
  too_many_tool_calls: 'error',
  failed: 'error',
  server_error: 'error',
  internal_error: 'error',
  abort: 'error',
  aborted: 'error',
  cancelled: 'error',
  canceled: 'error',
  timeout: 'error',
}

/** Values that mean that the answer has not ended yet. */
const none: readonly string[] = [
  '',
  'null',
  'none',
  'false',
  '0',
  'unknown',
  'not_finished',
  'finish_reason_unspecified',
]

/**
 * Parts of reasons that no list names, in the order of the checks. An unknown reason that says that the answer is
 * incomplete must not pass for `stop`, because the receiver would take half an answer for a whole one.
 */
const parts: readonly (readonly [RegExp, NormalEnd | 'error'])[] = [
  [/^(?:stop|eos|end)(?:_|$)/, 'stop'],
  [
    /error|fail|exception|abort|cancel|timeout|timed_out|overload|rate_limit|unavailable|malformed|internal|expired|preempt|evict|interrupt|disconnect|crash|kill/,
    'error',
  ],
  [
    /filter|safety|block|moderat|policy|refus|guardrail|prohibit|sensitive|unsafe|toxic|violat/,
    'content_filter',
  ],
  [
    /length|limit|max_|truncat|window|budget|exceed|incomplete|unfinished|partial|overflow|cut_?off/,
    'length',
  ],
]

/** How much of an unknown reason for the end of an answer is quoted, in characters. */
const shownMaxChars = 60

/**
 * Returns the normal form of a reason; null if the value names no end. Google may add a colon and its own word, which
 * is looked up first. An unknown reason is judged by its parts, and is `stop` without a known part. Throws `upstream-failed` for a failure of the provider. Pure.
 */
export function endOf(reason: string): NormalEnd | null {
  const words = [reason, ...reason.split(':').toReversed()].map(plainWord)
  if (none.includes(words[0] ?? '')) return null
  const word = words.find((one) => Object.hasOwn(ends, one))
  const end = word === undefined ? endByParts(words[0] ?? '') : (ends[word] ?? 'stop')
  if (end !== 'error') return end
  throw new Problem('upstream-failed', {
    detail: `the model ended its answer with ${reason.slice(0, shownMaxChars)}`,
  })
}

function endByParts(word: string): NormalEnd | 'error' {
  return parts.find(([part]) => part.test(word))?.[1] ?? 'stop'
}

/**
 * Returns the reason after a further one: some servers send a second end, and a plain one does not revoke that the
 * answer was cut off or filtered. Pure.
 */
export function laterEnd(before: NormalEnd | null, later: NormalEnd | null): NormalEnd | null {
  const isCut = before === 'length' || before === 'content_filter'
  return later === null || (isCut && (later === 'stop' || later === 'tool_calls')) ? before : later
}

function plainWord(reason: string): string {
  return reason
    .trim()
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
}
