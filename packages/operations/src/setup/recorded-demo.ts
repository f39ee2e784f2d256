/**
 * The demo that runs without a key: a cassette of the package, its template and its question. All tool calls of the
 * cassette are really executed.
 */
export const recordedDemo = {
  model: 'scripted/first-look',
  template: 'starter',
  agent: 'operator',
  question: 'Show me what this fleet can do.',
} as const
