import type { ProblemKind } from './problem-kind.ts'

/** How a run ends that does not end well; part of the one catalogue. */
export const runProblems = {
  interrupted: {
    status: 500,
    title: 'The run was cut off and could not be continued',
    retryable: true,
    repair: 'Ask again; what was done so far is in flotilla runs RUN.',
  },
  'tool-loop-terminated': {
    status: 500,
    title: 'The agent repeated itself and was stopped',
    retryable: false,
    repair: 'Say it in other words, or mend the tool that keeps failing: flotilla runs RUN shows its calls.',
  },
  'context-exhausted': {
    status: 422,
    title: 'The conversation does not fit into the model and cannot be made smaller',
    retryable: false,
    repair:
      'Begin a new conversation (flotilla chat AGENT --session NAME), use a model with a larger context, or set models.*.context in config/settings.json.',
  },
  'rounds-exhausted': {
    status: 500,
    title: 'The agent used all its rounds',
    retryable: false,
    repair:
      'Ask for a smaller piece, or raise FLOTILLA_CHAT_MAX_TOOL_ROUNDS, FLOTILLA_CHAT_MAX_TOTAL_ROUNDS or, for tasks, FLOTILLA_MAX_ITERATIONS in .env.',
  },
  'model-failed': {
    status: 502,
    title: 'The model gave no usable answer',
    retryable: true,
    repair:
      'Try again, or choose another model: flotilla models shows how they do, default_model in config/settings.json names the usual one.',
  },
  'no-capable-agent': {
    status: 404,
    title: 'No agent that may be messaged declares this',
    retryable: false,
    repair:
      'Name an agent by its id, or let one declare it; flotilla permissions show AGENT says whom the asker may message.',
  },
  'messages-exhausted': {
    status: 429,
    title: 'No more messages may be sent for this',
    retryable: false,
    repair: 'Go on with what was answered so far, and say what is missing; flotilla messages shows them.',
  },
  cancelled: {
    status: 499,
    title: 'The run was cancelled',
    retryable: false,
    repair: 'Ask again where it is still wanted; flotilla runs RUN shows how far it came.',
  },
  expired: {
    status: 504,
    title: 'The run waited too long',
    retryable: false,
    repair: 'Ask again; flotilla status shows whose queue is long, flotilla pending what waits for a person.',
  },
} as const satisfies Record<string, ProblemKind>
