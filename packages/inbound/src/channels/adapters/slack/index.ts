/** Slack, in Socket Mode. */

export { createSlackAdapter } from './slack-adapter.ts'
export type { SlackOptions } from './slack-adapter.ts'
