import type { ProblemKind } from './problem-kind.ts'

/** Problems with which a failed run ends; part of the one catalogue. */
export const runProblems = {
  interrupted: {
    status: 500,
    title: 'The run was interrupted and could not be continued',
    retryable: true,
    repair: 'Start the run again; flotilla runs RUN shows what was done.',
  },
  'tool-loop-terminated': {
    status: 500,
    title: 'The agent repeated itself and was stopped',
    retryable: false,
    repair: 'Rephrase the request, or repair the tool that keeps failing: flotilla runs RUN shows its calls.',
  },
  'context-exhausted': {
    status: 422,
    title: 'The conversation does not fit into the model’s context window and cannot be shortened',
    retryable: false,
    repair:
      'Start a new conversation (flotilla chat AGENT --session NAME), use a model with a larger context window, or set models.*.context in config/settings.json.',
  },
  'rounds-exhausted': {
    status: 500,
    title: 'The agent used all its rounds',
    retryable: false,
    repair:
      'Request a smaller piece of work, or raise FLOTILLA_CHAT_MAX_TOOL_ROUNDS, FLOTILLA_CHAT_MAX_TOTAL_ROUNDS or, for tasks, FLOTILLA_MAX_ITERATIONS in .env.',
  },
  'harness-failed': {
    status: 502,
    title: 'The harness of the agent failed',
    retryable: true,
    repair:
      'Correct what the detail names: flotilla logs AGENT shows the start, agents.*.harness of config/settings.json names the command. Then start the run again.',
  },
  'model-failed': {
    status: 502,
    title: 'The model returned no usable answer',
    retryable: true,
    repair:
      'Retry, or choose another model: flotilla models shows the state of each, default_model in config/settings.json names the default.',
  },
  'no-capable-agent': {
    status: 404,
    title: 'No reachable agent declares this capability',
    retryable: false,
    repair:
      'Name an agent by its id, or let one declare the capability; flotilla permissions show AGENT lists whom the caller may message.',
  },
  'messages-exhausted': {
    status: 429,
    title: 'The run may not send more messages',
    retryable: false,
    repair:
      'Continue with the answers received so far and state what is missing; flotilla messages shows the messages.',
  },
  cancelled: {
    status: 499,
    title: 'The run was cancelled',
    retryable: false,
    repair: 'Start the run again if you still need it; flotilla runs RUN shows how far it got.',
  },
  expired: {
    status: 504,
    title: 'The run waited too long',
    retryable: false,
    repair:
      'Start the run again; flotilla status shows long queues, flotilla pending the approvals that wait for a person.',
  },
} as const satisfies Record<string, ProblemKind>
