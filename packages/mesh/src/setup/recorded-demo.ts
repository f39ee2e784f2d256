/**
 * The recording that plays without a key: a cassette that ships, the fleet that it knows, and the words that it answers.
 * Every tool call in it is made for real.
 */
export const recordedDemo = {
  model: 'scripted/first-look',
  template: 'starter',
  agent: 'operator',
  question: 'Show me what this fleet can do.',
} as const
