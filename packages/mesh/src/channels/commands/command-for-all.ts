import type { ChannelName } from '@flotilla/protocol/people'

/** Slack gives nobody a message that begins with a command of no app, and another app's is that app's. */
export const slackCommand = '/flotilla'

/** Where one command of the platform stands for all of ours. */
export const commandForAll: Readonly<Partial<Record<ChannelName, string>>> = { slack: slackCommand }
